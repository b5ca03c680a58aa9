#include "common/secret_input.h"

#include <fcntl.h>
#include <pty.h>
#include <stdlib.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <thread>

#include "common/status_matchers.h"
#include "common/unique_fd.h"

namespace accel::common {
namespace {

using ::accel::testing::StatusIs;
using ::testing::HasSubstr;

// Replaces standard input until it is destroyed.
class Input {
 public:
  explicit Input(int fd) : before_(dup(STDIN_FILENO)) { dup2(fd, STDIN_FILENO); }
  ~Input() { dup2(before_.get(), STDIN_FILENO); }

 private:
  const UniqueFd before_;
};

std::string WriteFile(const std::string& content) {
  std::string path = ::testing::TempDir() + "/keyXXXXXX";
  close(mkstemp(path.data()));
  std::ofstream(path) << content;
  return path;
}

TEST(SecretInputTest, ReadsOneLineOfAFile) {
  ASSERT_OK_AND_ASSIGN(const std::string line,
                       ReadSecretInput(WriteFile("\n  the key \r\nmore\n"), ""));
  EXPECT_EQ(line, "the key");
}

TEST(SecretInputTest, WrongFilesAreNamed) {
  const std::string empty = WriteFile(" \n\n");
  EXPECT_THAT(ReadSecretInput(empty, "").status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(empty + " is empty")));
  EXPECT_THAT(ReadSecretInput(WriteFile(std::string(5000, 'x')), "").status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("longer than 4 KiB")));
  EXPECT_THAT(ReadSecretInput("/no/file", "").status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("/no/file")));
}

TEST(SecretInputTest, ReadsAPipe) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  ASSERT_EQ(write(ends[1], "from a pipe", 11), 11);
  close(ends[1]);
  const Input input(ends[0]);
  close(ends[0]);
  ASSERT_OK_AND_ASSIGN(const std::string line, ReadSecretInput("", "not shown"));
  EXPECT_EQ(line, "from a pipe");
}

TEST(SecretInputTest, ATerminalDoesNotShowTheKey) {
  int controller = -1;
  int terminal = -1;
  ASSERT_EQ(openpty(&controller, &terminal, nullptr, nullptr, nullptr), 0);
  const UniqueFd owner(controller);
  std::string shown;
  absl::StatusOr<std::string> line;
  {
    const Input input(terminal);
    const UniqueFd errors(dup(STDERR_FILENO));
    dup2(terminal, STDERR_FILENO);
    std::thread reader([&] { line = ReadSecretInput("", "Key: "); });
    // The key is typed once the prompt is shown.
    char byte = 0;
    while (shown.find("Key: ") == std::string::npos && read(controller, &byte, 1) == 1) {
      shown.push_back(byte);
    }
    EXPECT_EQ(write(controller, "secret\n", 7), 7);
    reader.join();
    dup2(errors.get(), STDERR_FILENO);
  }
  close(terminal);
  char byte = 0;
  while (read(controller, &byte, 1) == 1) shown.push_back(byte);
  ASSERT_OK(line);
  EXPECT_EQ(*line, "secret");
  EXPECT_EQ(shown.find("secret"), std::string::npos) << shown;
}

}  // namespace
}  // namespace accel::common
