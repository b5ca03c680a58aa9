// LibTorch's headers for the sources of this folder.
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/utils/clip_grad.h>
#include <torch/optim/optimizer.h>
