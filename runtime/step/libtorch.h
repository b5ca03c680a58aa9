// What the sources of the step include of LibTorch.
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/utils/clip_grad.h>
#include <torch/optim/optimizer.h>
