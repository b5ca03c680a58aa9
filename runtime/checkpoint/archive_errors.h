// The errors of LibTorch's archives, as CheckpointErrors with the name of the file.
#pragma once

#include <filesystem>
#include <functional>

namespace accel::runtime {

// Calls `parse`, in which LibTorch alone reads the archive `file`. Whatever it throws becomes a
// CheckpointError with the name of the file: LibTorch also meets damage with std::out_of_range,
// std::bad_alloc and errors of its parser of TorchScript. CheckpointErrors pass unchanged.
void parse_archive(const std::filesystem::path& file, const std::function<void()>& parse);

// Calls `use`, which takes tensors and values out of a parsed archive, and may have errors of its
// own. Only LibTorch's own errors become CheckpointErrors: the archive lacks what `use` asks for.
void use_archive(const std::filesystem::path& file, const std::function<void()>& use);

}  // namespace accel::runtime
