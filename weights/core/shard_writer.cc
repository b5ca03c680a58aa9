#include "weights/core/shard_writer.h"

#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "weights/core/shard_files.h"

namespace accel::weights {
namespace {

using json = nlohmann::json;

std::string file_name(int rank, std::size_t file, std::size_t files) {
  char name[96];
  std::snprintf(name, sizeof(name), "shard-%05d-model-%05zu-of-%05zu.safetensors", rank, file,
                files);
  return name;
}

}  // namespace

std::vector<ShardFile> shard_files(const std::vector<ShardPiece>& pieces, int rank) {
  std::map<std::string, std::size_t> parts;  // For each tensor, the number of parts in files.
  std::vector<std::map<std::string, std::size_t>> files(1);
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    // A tensor without elements has one part, which is empty.
    if (elements(pieces[i].box) == 0 && elements(whole(pieces[i].shape)) > 0) continue;
    const std::size_t file = parts[pieces[i].name]++;
    if (file == files.size()) files.emplace_back();
    files[file][pieces[i].name] = i;
  }
  std::vector<ShardFile> out;
  for (std::size_t file = 0; file < files.size(); ++file) {
    std::vector<SafetensorsEntry> entries;
    json info = json::object();
    for (const auto& [name, i] : files[file]) {
      entries.push_back({.name = name, .dtype = pieces[i].dtype, .shape = pieces[i].box.sizes});
      info[name] = {{kSavedOffsets, pieces[i].box.offsets}, {kFullShape, pieces[i].shape}};
    }
    const SafetensorsHeader header =
        lay_out(std::move(entries),
                {{"DCP_VERSION", "1.0"}, {kShardingInfo, info.dump()}, {"format", "pt"}});
    ShardFile& to = out.emplace_back();
    to.name = file_name(rank, file + 1, files.size());
    to.header = header_bytes(header);
    to.size = header.data_begin + header.data_size;
    for (const SafetensorsEntry& entry : header.entries) {
      to.pieces.push_back(files[file].at(entry.name));
    }
  }
  return out;
}

}  // namespace accel::weights
