// LibTorch's headers for tests that train: common layers, optimizers, autocast, derivatives and
// datasets.
//
// <torch/nn.h> is not among them, because it adds 10 s of processor time to the compilation of a
// file. A test includes the headers of further layers itself.
#pragma once

#include <ATen/autocast_mode.h>
#include <torch/autograd.h>
#include <torch/nn/functional/loss.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/utils.h>
#include <torch/optim.h>

#include "runtime/testing/datasets.h"
