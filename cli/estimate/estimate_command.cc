#include "cli/estimate/estimate_command.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cli/estimate/core/architectures.h"
#include "cli/estimate/core/memory_table.h"
#include "cli/estimate/core/model_sizes.h"
#include "common/status_macros.h"
#include "common/unique_fd.h"

namespace accel::cli {
namespace {

constexpr uint64_t kMaxConfigText = 1 << 20;
constexpr uint64_t kMaxIndexText = 64 << 20;
constexpr uint64_t kMaxHeaderText = 100'000'000;  // The limit of the format's own library.

bool Exists(const std::string& path) {
  struct stat facts {};
  return stat(path.c_str(), &facts) == 0;
}

// Reads `bytes` bytes at `offset`.
absl::StatusOr<std::string> ReadAt(int fd, const std::string& path, uint64_t offset,
                                   uint64_t bytes) {
  std::string text(bytes, '\0');
  size_t filled = 0;
  while (filled < text.size()) {
    const ssize_t got =
        pread(fd, text.data() + filled, text.size() - filled, static_cast<off_t>(offset + filled));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0)
      return absl::UnavailableError(absl::StrCat("cannot read ", path, ": ", strerror(errno)));
    if (got == 0)
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": it ends too early to be a safetensors file; copy it again"));
    filled += static_cast<size_t>(got);
  }
  return text;
}

struct OpenFile {
  common::UniqueFd fd;
  uint64_t size = 0;
};

absl::StatusOr<OpenFile> Open(const std::string& path) {
  OpenFile file{common::UniqueFd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)), 0};
  struct stat facts {};
  if (file.fd.get() < 0 || fstat(file.fd.get(), &facts) != 0) {
    return absl::InvalidArgumentError(absl::StrCat("cannot read ", path, ": ", strerror(errno)));
  }
  if (!S_ISREG(facts.st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": it is not a regular file"));
  }
  file.size = static_cast<uint64_t>(facts.st_size);
  return file;
}

absl::StatusOr<std::string> ReadWhole(const std::string& path, uint64_t most) {
  ACCEL_ASSIGN_OR_RETURN(const OpenFile file, Open(path));
  if (file.size > most) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": it has ", file.size, " bytes; at most ", most, " are read"));
  }
  return ReadAt(file.fd.get(), path, 0, file.size);
}

absl::StatusOr<std::vector<TensorSize>> ReadSafetensors(const std::string& path) {
  constexpr uint64_t kLengthBytes = 8;
  ACCEL_ASSIGN_OR_RETURN(const OpenFile file, Open(path));
  ACCEL_ASSIGN_OR_RETURN(const std::string first, ReadAt(file.fd.get(), path, 0, kLengthBytes));
  uint64_t length = 0;
  for (size_t i = kLengthBytes; i-- > 0;)
    length = length << 8 | static_cast<unsigned char>(first[i]);
  if (length > kMaxHeaderText || length > file.size - kLengthBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": its header does not fit into the file"));
  }
  ACCEL_ASSIGN_OR_RETURN(const std::string header,
                         ReadAt(file.fd.get(), path, kLengthBytes, length));
  return ReadSafetensorsHeader(path, header);
}

absl::StatusOr<std::vector<TensorSize>> ReadShards(const std::string& folder,
                                                   const std::string& index) {
  ACCEL_ASSIGN_OR_RETURN(const std::string text, ReadWhole(index, kMaxIndexText));
  ACCEL_ASSIGN_OR_RETURN(const auto files, ReadIndex(index, text));
  std::vector<TensorSize> all;
  for (const std::string& file : files) {
    ACCEL_ASSIGN_OR_RETURN(auto tensors, ReadSafetensors(absl::StrCat(folder, "/", file)));
    all.insert(all.end(), tensors.begin(), tensors.end());
  }
  return all;
}

// Reads a safetensors file, an index, a config.json, or a folder with one of them.
absl::StatusOr<std::vector<TensorSize>> ReadModel(const std::string& path) {
  if (absl::EndsWith(path, ".safetensors")) return ReadSafetensors(path);
  if (absl::EndsWith(path, ".index.json")) {
    const size_t slash = path.rfind('/');
    return ReadShards(slash == std::string::npos ? "." : path.substr(0, slash), path);
  }
  if (absl::EndsWith(path, ".json")) {
    ACCEL_ASSIGN_OR_RETURN(const std::string text, ReadWhole(path, kMaxConfigText));
    return TensorsOfConfig(path, text);
  }
  for (const char* name : {"model.safetensors.index.json", "model.safetensors", "config.json"}) {
    const std::string inside = absl::StrCat(path, "/", name);
    if (Exists(inside)) return ReadModel(inside);
  }
  return absl::InvalidArgumentError(absl::StrCat(
      path, Exists(path) ? " holds no model.safetensors, no index of one and no config.json"
                         : " does not exist; MODEL is a file or a folder of this machine, because "
                           "accel downloads nothing"));
}

// Joins the words after --dtypes that are dtypes with commas, because Accelerate's users write
// `--dtypes float32 float16`.
std::vector<std::string> JoinDtypes(const std::vector<std::string>& args) {
  std::vector<std::string> joined;
  bool is_list = false;
  for (const std::string& word : args) {
    if (is_list && IsDtype(word)) {
      absl::StrAppend(&joined.back(), joined.back() == "--dtypes" ? "=" : ",", word);
    } else {
      is_list = word == "--dtypes" || absl::StartsWith(word, "--dtypes=");
      joined.push_back(word);
    }
  }
  return joined;
}

absl::Status Estimate(const std::string& model, const std::string& dtypes, bool json,
                      const Console& console) {
  const std::vector<std::string> names = absl::StrSplit(dtypes, ',');
  for (const std::string& name : names) {
    if (!IsDtype(name)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--dtypes \"", name,
          "\": it must be float32, float16, int8 or int4, with commas or spaces between them"));
    }
  }
  ACCEL_ASSIGN_OR_RETURN(const auto tensors, ReadModel(model));
  ACCEL_ASSIGN_OR_RETURN(const ModelSizes sizes, SizesOfTensors(tensors));
  console.out << (json ? MemoryJson(model, sizes, names) + "\n" : MemoryTable(model, sizes, names));
  return absl::OkStatus();
}

}  // namespace

int RunEstimateMemory(const std::vector<std::string>& args, const Console& console) {
  std::string model, dtypes = "float32,float16,int8,int4", library;
  bool json = false, trusts_code = false;
  FlagSet flags("accel estimate-memory", "[flags] MODEL",
                absl::StrCat("Prints how much memory a model takes in several data types, and for "
                             "training with Adam, without loading it. MODEL is a safetensors file, "
                             "a folder with one or with its index, or a config.json of ",
                             KnownArchitectures(), ". Nothing is downloaded."));
  flags.Text("dtypes", "TYPE,TYPE,…",
             "float32, float16, int8, int4, with commas or spaces between them (default: all of "
             "them)",
             &dtypes);
  flags.Value("library_name", "transformers|timm",
              "has no effect: MODEL's own files say everything", [&](const std::string& text) {
                library = text;
                return text == "transformers" || text == "timm"
                           ? absl::OkStatus()
                           : absl::InvalidArgumentError("it must be transformers or timm");
              });
  flags.Switch("trust_remote_code", "has no effect: no code of MODEL is run", &trusts_code);
  flags.Switch("json", "print JSON, with sizes in bytes (docs/json.md)", &json);
  flags.Argument("MODEL", /*required=*/true, &model);
  flags.Footer("Exit codes: 0 done, 2 wrong usage or a wrong file, 1 any other error.");
  if (const auto over = ParseOrExplain(flags, JoinDtypes(args), console)) return *over;
  if (!library.empty()) {
    PrintMessage(console, "--library_name has no effect: accel reads MODEL's own files");
  }
  if (trusts_code) {
    PrintMessage(console, "--trust_remote_code has no effect: accel runs no code of a model");
  }
  const absl::Status done = Estimate(model, dtypes, json, console);
  return done.ok() ? kExitOk : Fail(console, done);
}

}  // namespace accel::cli
