"""The runtime's archive: a project outside of this repository finds it with CMake, and trains the README's example."""

import os
import pathlib
import re
import shutil
import unittest

from tests.e2e import cluster

_HOME = pathlib.Path(os.environ.get("ACCEL_TEST_HOME", "/root"))
_PYTHON = pathlib.Path(os.environ.get("ACCEL_PYTHON") or _HOME / ".cache/accel/venv/bin/python")
ARCHIVE = cluster.runfile("packaging/accel-runtime.tar.gz")

_PROJECT = """\
cmake_minimum_required(VERSION 3.18)
project(outside CXX)
find_package(accel {version} REQUIRED)
add_executable(train main.cc)
target_link_libraries(train accel::accel)
"""

# What stands around the README's lines.
_PROGRAM = """\
#include <accel/accelerator.h>
#include <accel/data_loader.h>
#include <torch/torch.h>

#include <iostream>
#include <memory>

struct Ones : torch::data::datasets::Dataset<Ones> {
  torch::data::Example<> get(std::size_t) override { return {torch::ones({4}), torch::tensor(1)}; }
  std::optional<std::size_t> size() const override { return 8; }
};

int main() {
  torch::nn::Linear net(4, 2);
  auto sgd = std::make_shared<torch::optim::SGD>(net->parameters(), 0.1);
  auto data_loader = accel::make_data_loader(Ones().map(torch::data::transforms::Stack<>()), 2);
@README@
  accelerator.wait_for_everyone();
  std::cout << "trained on rank " << accelerator.process_index() << std::endl;
}
"""


def program():
    """Returns the README's example as a whole program."""
    [example] = re.findall(r"```cpp\n(.*?)```", pathlib.Path(cluster.runfile("README.md")).read_text(), re.DOTALL)
    return _PROGRAM.replace("@README@", example)


def torch_folder():
    """Returns the folder of LibTorch that the runtime was built with."""
    [found] = (_PYTHON.parent.parent / "lib").glob("python*/site-packages/torch")
    return found


@unittest.skipIf(shutil.which("cmake") is None, "CMake is not installed")
class RuntimeArchive(cluster.Test):
    def test_a_project_outside_builds_the_example(self):
        self.assertEqual(self.run_command("tar", "-xzf", ARCHIVE).code, 0)
        [top] = pathlib.Path(self.dir).glob("accel-*")
        project = self.path("project")
        project.mkdir()
        version = top.name.removeprefix("accel-")
        (project / "CMakeLists.txt").write_text(_PROJECT.format(version=version))
        (project / "main.cc").write_text(program())
        build = self.path("build")
        configured = self.run_command("cmake", "-S", project, "-B", build, f"-DCMAKE_PREFIX_PATH={top};{torch_folder()}/share/cmake",
                                      "-DCMAKE_BUILD_TYPE=Debug", seconds=120)
        self.assertEqual(configured.code, 0, configured)
        built = self.run_command("cmake", "--build", build, seconds=600)
        self.assertEqual(built.code, 0, built)
        trained = self.launch("--num_processes", 2, build / "train", seconds=120)
        self.assertEqual(trained.code, 0, trained)
        self.assertEqual(sorted(re.findall(r"trained on rank \d", trained.out)), ["trained on rank 0", "trained on rank 1"])

    def test_a_program_needs_no_development_package(self):
        config = self.run_command("tar", "-xzOf", ARCHIVE, "--wildcards", "*/accel-config.cmake").out
        [libraries] = re.findall(r'set\(accel_system_libraries "(.*)"\)', config)
        self.assertLessEqual(set(libraries.split()), {"pthread", "dl", "rt", "m"})

    def test_without_libtorch_the_message_says_what_to_set(self):
        self.assertEqual(self.run_command("tar", "-xzf", ARCHIVE).code, 0)
        [top] = pathlib.Path(self.dir).glob("accel-*")
        project = self.path("project")
        project.mkdir()
        (project / "CMakeLists.txt").write_text(_PROJECT.format(version=top.name.removeprefix("accel-")))
        (project / "main.cc").write_text("int main() {}\n")
        result = self.run_command("cmake", "-S", project, "-B", self.path("build"), f"-DCMAKE_PREFIX_PATH={top}",
                                  "-DACCEL_TORCH_ROOT=/nowhere", seconds=120)
        self.assertNotEqual(result.code, 0)
        self.assertIn("set ACCEL_TORCH_ROOT", " ".join(result.err.split()))


if __name__ == "__main__":
    cluster.main()
