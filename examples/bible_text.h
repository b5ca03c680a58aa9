// Reads the King James Bible as Debian's bible-kjv-text installs it.
#pragma once

#include <string>

namespace examples {

// Returns the text: a line with a title, then one verse per line, such as "Ge1:1 In the beginning
// God created the heaven and the earth." A file in another format is returned unchanged. Throws
// std::runtime_error that names the file.
std::string read_bible(const std::string& path);

}  // namespace examples
