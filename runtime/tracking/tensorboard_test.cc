// Event files are read by TensorBoard's own Python package.
#include <gtest/gtest.h>
#include <pwd.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "runtime/tracking/proto_writer.h"
#include "runtime/tracking/tensorboard_tracker.h"

namespace accel::runtime {
namespace {

namespace fs = std::filesystem;

std::string python() {
  if (const char* named = std::getenv("ACCEL_PYTHON")) return named;
  return std::string(getpwuid(getuid())->pw_dir) + "/.cache/accel/venv/bin/python";
}

constexpr char kPython[] = R"(
import sys, glob
from tensorboard.backend.event_processing import event_accumulator
from tensorboard.backend.event_processing.event_file_loader import RawEventFileLoader
from tensorboard.compat.proto import event_pb2
from tensorboard.plugins.hparams import plugin_data_pb2

folder = sys.argv[1]
everything = event_accumulator.EventAccumulator(folder, size_guidance={event_accumulator.SCALARS: 0, event_accumulator.TENSORS: 0})
everything.Reload()

# What the first run logged from step 3 on is purged: the second one went on from there.
loss = [(event.step, event.value) for event in everything.Scalars("train/loss")]
assert loss == [(0, 4.0), (1, 3.0), (2, 2.0), (3, 0.5), (4, 0.25)], loss
assert [event.value for event in everything.Scalars("exact")] == [True, -7.0]
assert everything.Scalars("train/loss")[0].wall_time > 1.7e9

text = [event.tensor_proto.string_val[0].decode() for event in everything.Tensors("note")]
assert text == ["gr\u00fc\u00df dich \ufffd"], text
config = everything.Tensors("config")[0].tensor_proto.string_val[0].decode()
assert "| rate | 0.1 |" in config and "| name | a\\|b |" in config, config

sessions = everything.PluginTagToContent("hparams")
start = plugin_data_pb2.HParamsPluginData.FromString(sessions["_hparams_/session_start_info"]).session_start_info
assert start.hparams["rate"].number_value == 0.1 and start.hparams["name"].string_value == "a|b"
assert start.hparams["nesterov"].bool_value is True and start.hparams["batch"].number_value == 64
end = plugin_data_pb2.HParamsPluginData.FromString(sessions["_hparams_/session_end_info"]).session_end_info
assert end.status == 1 and end.end_time_secs >= start.start_time_secs > 1.7e9

# Nothing in the files that the messages do not know.
files = sorted(glob.glob(folder + "/events.out.tfevents.*"))
assert len(files) == 2, files
for file in files:
    for raw in RawEventFileLoader(file).Load():
        event = event_pb2.Event.FromString(raw)
        event.DiscardUnknownFields()
        assert event.ByteSize() == len(raw), event
print("read")
)";

TEST(TensorBoardTest, ReadsTheFilesOfARestartedRun) {
  const fs::path folder = fs::path(testing::TempDir()) / "tensorboard";
  fs::remove_all(folder);
  {
    TensorBoardTracker first(folder);
    first.store_init_configuration(
        {{"rate", 0.1}, {"name", "a|b"}, {"nesterov", true}, {"batch", 64}});
    first.log({{"note", "gr\u00fc\u00df dich \xfc"}}, std::nullopt);
    for (int step = 0; step < 5; ++step) first.log({{"train/loss", 4 - step}}, step);
  }  // As if killed: no finish(). The next starts within a second.
  TensorBoardTracker second(folder);
  second.store_init_configuration({});
  second.log({{"train/loss", 0.5}, {"exact", true}}, 3);
  second.log({{"train/loss", 0.25}, {"exact", -7}}, 4);
  second.finish();

  const fs::path script = fs::path(testing::TempDir()) / "read_events.py";
  std::ofstream(script) << kPython;
  const std::string command =
      "timeout 50 " + python() + " " + script.string() + " " + folder.string();
  EXPECT_EQ(std::system(command.c_str()), 0);
}

TEST(ProtoWriterTest, WritesTheExamplesOfTheSpecification) {
  EXPECT_EQ(ProtoWriter().add_integer(1, 150).bytes(), "\x08\x96\x01");
  EXPECT_EQ(ProtoWriter().add_text(2, "testing").bytes(), "\x12\x07testing");
  EXPECT_EQ(ProtoWriter().add_integer(1, -1).bytes(),
            "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
  EXPECT_EQ(ProtoWriter().add_integer(16, 0).bytes(), std::string("\x80\x01\x00", 3));
}

}  // namespace
}  // namespace accel::runtime
