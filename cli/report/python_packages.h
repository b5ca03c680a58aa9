// Finds the versions of Python packages without starting Python, which takes a second with PyTorch.
#pragma once

#include <map>
#include <string>

namespace accel::cli {

// Returns the versions of packages for training, by name, in the environment of the interpreter
// `python`. Reads them from the names of the folders "NAME-VERSION.dist-info" in
// ../lib/python3.*/{site,dist}-packages. Empty if there are none.
std::map<std::string, std::string> PackageVersions(const std::string& python);

// Returns the version in the pyvenv.cfg of the virtual environment of `python`, or "" if
// there is none.
std::string VenvPythonVersion(const std::string& python);

}  // namespace accel::cli
