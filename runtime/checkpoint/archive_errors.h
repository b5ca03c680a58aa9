// The errors of LibTorch's archives, as CheckpointErrors with the name of the file.
#pragma once

#include <filesystem>
#include <functional>

namespace accel::runtime {

// Calls `parse`, in which LibTorch alone reads the archive `file`. Every exception becomes a
// CheckpointError with the name of the file. LibTorch meets damage also with std::out_of_range,
// std::bad_alloc and errors of its parser of TorchScript. CheckpointErrors pass unchanged.
void parse_archive(const std::filesystem::path& file, const std::function<void()>& parse);

// Calls `use`, which takes tensors and values out of a parsed archive. Only LibTorch's own errors
// become CheckpointErrors, because they mean that the archive lacks what `use` needs. Other errors
// are those of `use`, and pass unchanged.
void use_archive(const std::filesystem::path& file, const std::function<void()>& use);

}  // namespace accel::runtime
