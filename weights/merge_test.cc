// Merges checkpoints that Python's torch has written, and lets torch read those in accel's format.
#include "weights/merge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pwd.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <utility>

#include "common/checkpoint_error.h"
#include "weights/core/shard_files.h"
#include "weights/core/shard_writer.h"
#include "weights/saved_folder.h"

namespace accel::weights {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string python() {
  if (const char* named = std::getenv("ACCEL_PYTHON")) return named;
  return std::string(getpwuid(getuid())->pw_dir) + "/.cache/accel/venv/bin/python";
}

int run_python(const std::string& script, const fs::path& folder) {
  const fs::path file = folder.string() + ".py";
  std::ofstream(file) << script;
  return std::system(
      ("timeout 250 " + python() + " " + file.string() + " " + folder.string()).c_str());
}

fs::path fresh_folder(const std::string& name) {
  const fs::path folder = fs::path(testing::TempDir()) / name;
  fs::remove_all(folder);
  fs::create_directories(folder);
  return folder;
}

std::string text_of_file(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::string error_of(const auto& call) {
  try {
    call();
  } catch (const CheckpointError& error) {
    return error.what();
  }
  return "no error";
}

// Saves a sharded model of 2 ranks as Accelerate does, an unsharded one, and the weights as one
// file.
constexpr char kSave[] = R"(
import os, sys, torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
import torch.multiprocessing
from safetensors.torch import save_file
from torch.distributed.tensor import Shard, distribute_tensor, init_device_mesh

def weights():
    torch.manual_seed(0)
    return {"a.weight": torch.randn(5, 3), "a.bias": torch.randn(5), "half": torch.randn(4, 2).bfloat16(),
            "scalar": torch.tensor(3.5), "long": torch.arange(7), "one_row": torch.randn(1, 6),
            "none": torch.zeros(0, 4)}

def rank_main(rank, folder):
    os.environ.update(RANK=str(rank), WORLD_SIZE="2")
    store = dist.FileStore(folder + ".store", 2)
    dist.init_process_group("gloo", rank=rank, world_size=2, store=store)
    mesh = init_device_mesh("cpu", (2,))
    full = weights()
    sharded = {k: distribute_tensor(v, mesh, [Shard(0)]) if v.dim() and v.numel() else v for k, v in full.items()}
    dcp.save({"model": sharded}, checkpoint_id=folder)
    dcp.save({"optimizer": {"state": sharded, "lr": 0.1, "names": list(full)}}, checkpoint_id=folder + "_objects")
    if rank == 0: save_file(full, folder + ".expected")
    dist.destroy_process_group()

if __name__ == "__main__":
    torch.multiprocessing.spawn(rank_main, args=(sys.argv[1],), nprocs=2)
    dcp.save({"model": {"t": torch.randn(4, 6).t()}}, checkpoint_id=sys.argv[1] + "_strided", no_dist=True)
)";

// Made once for all tests.
const fs::path& saved_by_python() {
  static const fs::path folder = [] {
    const fs::path made = fresh_folder("dcp");
    fs::remove(made.string() + ".store");
    for (const char* other : {"_objects", "_strided"}) fs::remove_all(made.string() + other);
    EXPECT_EQ(run_python(kSave, made), 0);
    return made;
  }();
  return folder;
}

TEST(MergeTest, AFolderOfPythonBecomesTheFileThatPythonWrites) {
  const fs::path& folder = saved_by_python();
  const fs::path out = folder.string() + ".merged";
  const Merged merged = merge(folder, out);
  EXPECT_EQ(merged.tensors, 7u);
  EXPECT_EQ(merged.largest, 60u);
  SavedTensors ours, theirs;
  for (const auto& [file, to] : {std::pair(out, &ours), {folder.string() + ".expected", &theirs}}) {
    const std::string bytes = text_of_file(file);
    const std::uint64_t length = header_length(bytes.substr(0, 8), bytes.size(), file);
    to->files.push_back(file);
    add_shard_file(parse_header(std::string_view(bytes).substr(8, length), bytes.size(), file),
                   *to);
  }
  ASSERT_EQ(ours.tensors.size(), theirs.tensors.size());
  const std::string bytes = text_of_file(out), expected = text_of_file(theirs.files[0]);
  for (const auto& [name, tensor] : theirs.tensors) {
    ASSERT_TRUE(ours.tensors.contains(name)) << name;
    const SavedTensor& mine = ours.tensors.at(name);
    EXPECT_EQ(mine.shape, tensor.shape) << name;
    EXPECT_EQ(mine.dtype, tensor.dtype) << name;
    const std::uint64_t size = byte_count(tensor.dtype, tensor.shape);
    EXPECT_EQ(bytes.substr(mine.pieces[0].begin, size),
              expected.substr(tensor.pieces[0].begin, size))
        << name;
  }
}

TEST(MergeTest, ValuesThatAreNoTensorsAreNamed) {
  const fs::path folder = saved_by_python().string() + "_objects";
  const Merged merged = merge(folder, folder.string() + ".merged");
  EXPECT_EQ(merged.tensors, 7u);
  EXPECT_THAT(merged.skipped, ::testing::Contains("optimizer.lr"));
}

TEST(MergeTest, DamageIsRefusedWithTheFile) {
  const fs::path folder = fresh_folder("damaged");
  const auto restore = [&] {
    fs::copy(saved_by_python(), folder,
             fs::copy_options::recursive | fs::copy_options::overwrite_existing);
  };
  const fs::path out = folder.string() + ".merged";
  fs::remove(out);
  const auto merging = [&] { merge(folder, out); };
  restore();
  fs::remove(folder / "__1_0.distcp");
  EXPECT_THAT(error_of(merging), HasSubstr("__1_0.distcp: cannot be read: No such file"));
  restore();
  fs::resize_file(folder / "__1_0.distcp", 2000);
  EXPECT_THAT(error_of(merging), HasSubstr("__1_0.distcp: ends before tensor"));
  restore();
  const std::string metadata = text_of_file(folder / ".metadata");
  for (std::size_t size = 0; size < metadata.size(); size += 5) {
    std::ofstream(folder / ".metadata", std::ios::binary) << metadata.substr(0, size);
    ASSERT_THAT(error_of(merging), HasSubstr(".metadata: ")) << size;
  }
  // A byte that changes gives another checkpoint or an error, and never ends the program.
  for (std::size_t at = 0; at < metadata.size(); at += 3) {
    std::string changed = metadata;
    changed[at] = static_cast<char>(changed[at] ^ 0x15);
    std::ofstream(folder / ".metadata", std::ios::binary) << changed;
    error_of(merging);
  }
  restore();
  const std::string data = text_of_file(folder / "__0_0.distcp");
  for (std::size_t at = 0; at < data.size(); at += 11) {
    std::string changed = data;
    changed[at] = static_cast<char>(changed[at] ^ 0x15);
    std::ofstream(folder / "__0_0.distcp", std::ios::binary) << changed;
    error_of(merging);
  }
  EXPECT_FALSE(fs::exists(out.string() + ".partial"));
}

TEST(MergeTest, OtherFoldersAreRefused) {
  const fs::path empty = fresh_folder("empty");
  EXPECT_THAT(error_of([&] { merge(empty, empty / "out"); }), HasSubstr("holds no checkpoint"));
  EXPECT_THAT(error_of([&] { merge(empty / "none", empty / "out"); }),
              HasSubstr("is not a folder"));
  const fs::path strided = saved_by_python().string() + "_strided";
  EXPECT_THAT(error_of([&] { merge(strided, empty / "out"); }), HasSubstr(".contiguous()"));
}

// Writes the parts of 3 ranks, cut inside of rows. Element i of each tensor is i.
void write_shards(const fs::path& folder) {
  const std::vector<std::pair<std::string, Shape>> kTensors = {
      {"embed.weight", {7, 5}}, {"bias", {5}}, {"cube", {2, 3, 4}}, {"scalar", {}}};
  for (int rank = 0; rank < 3; ++rank) {
    std::vector<ShardPiece> pieces;
    std::vector<std::string> bytes;
    for (const auto& [name, shape] : kTensors) {
      const std::uint64_t count = elements(whole(shape));
      std::uint64_t at = count * static_cast<std::uint64_t>(rank) / 3;
      for (const Box& box :
           boxes_of_range(shape, at, count * static_cast<std::uint64_t>(rank + 1) / 3)) {
        pieces.push_back({.name = name, .shape = shape, .box = box});
        bytes.emplace_back();
        for (std::uint64_t i = 0; i < elements(box); ++i) {
          const float value = static_cast<float>(at++);
          bytes.back().append(reinterpret_cast<const char*>(&value), sizeof(value));
        }
      }
    }
    for (const ShardFile& file : shard_files(pieces, rank)) {
      std::ofstream stream(folder / file.name, std::ios::binary);
      stream << file.header;
      for (const std::size_t piece : file.pieces) stream << bytes[piece];
    }
  }
}

constexpr char kRead[] = R"(
import sys, torch
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.hf_storage import HuggingFaceStorageReader
from safetensors.torch import load_file
state = {"embed.weight": torch.zeros(7, 5), "bias": torch.zeros(5), "cube": torch.zeros(2, 3, 4), "scalar": torch.tensor(9.)}
dcp.load(state, storage_reader=HuggingFaceStorageReader(sys.argv[1]), no_dist=True)
merged = load_file(sys.argv[1] + ".merged")
for name, tensor in state.items():
    expected = torch.arange(tensor.numel(), dtype=torch.float32).view(tensor.shape)
    assert torch.equal(tensor, expected), (name, tensor)
    assert torch.equal(merged[name], expected), (name, merged[name])
assert len(merged) == 4
)";

TEST(MergeTest, TorchReadsOurShardsAndTheMergedFile) {
  const fs::path folder = fresh_folder("native");
  write_shards(folder);
  const Merged merged = merge(folder, folder.string() + ".merged");
  EXPECT_EQ(merged.tensors, 4u);
  EXPECT_EQ(merged.largest, 140u);
  EXPECT_EQ(run_python(kRead, folder), 0);
  const fs::path first = fs::directory_iterator(folder)->path();
  EXPECT_THAT(error_of([&] { merge(folder, first); }), HasSubstr("is a file of the checkpoint"));
}

}  // namespace
}  // namespace accel::weights
