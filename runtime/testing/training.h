// LibTorch's headers for tests that train: layers, optimizers, autocast, derivatives and datasets.
#pragma once

#include <ATen/autocast_mode.h>
#include <torch/autograd.h>
#include <torch/nn.h>
#include <torch/optim.h>

#include "runtime/testing/datasets.h"
