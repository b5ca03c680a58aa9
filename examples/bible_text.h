// The King James Bible as Debian's bible-kjv-text installs it.
#pragma once

#include <string>

namespace examples {

// The text: one verse per line, such as "Ge1:1 In the beginning God created the heaven and the
// earth.", behind a line with a title. A file that is not in that package's format is taken as it
// is. Throws std::runtime_error that names the file.
std::string read_bible(const std::string& path);

}  // namespace examples
