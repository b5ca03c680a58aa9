// Finds the versions of Python packages without starting Python, which takes a second with PyTorch.
#pragma once

#include <map>
#include <string>

namespace accel::cli {

// Returns the versions of the packages that matter for training, by name, that the environment of
// the interpreter `python` has. Reads the names of the folders "NAME-VERSION.dist-info" below
// ../lib/python3.*/{site,dist}-packages. Empty if there are none.
std::map<std::string, std::string> PackageVersions(const std::string& python);

// Returns the version in the pyvenv.cfg of a virtual environment, or an empty text.
std::string VenvPythonVersion(const std::string& python);

}  // namespace accel::cli
