#include "cli/config/core/setting.h"

namespace accel::cli {
namespace {

using enum Kind;
using enum Given;
using enum Effect;
using enum Print;

constexpr Setting kSettings[] = {
    {"", "compute_environment", kText, kFile, kLaunch, "LOCAL_MACHINE",
     "LOCAL_MACHINE|AMAZON_SAGEMAKER", "", kAsIs, "where the job runs; accel drives LOCAL_MACHINE"},
    {"", "distributed_type", kText, kFile, kLaunch, "",
     "NO|MULTI_CPU|MULTI_GPU|FSDP|DEEPSPEED|MEGATRON_LM|MULTI_NPU|MULTI_MLU|MULTI_SDAA|MULTI_MUSA|"
     "MULTI_XPU|MULTI_HPU|MULTI_NEURON|XLA|TPU",
     "", kAsIs, "what workers do with each other; accel drives the first six"},
    {"", "mixed_precision", kText, kFileAndFlag, kWorkers, "no", "no|fp16|bf16|fp8",
     "ACCELERATE_MIXED_PRECISION", kLower, "precision of the computation"},
    {"", "use_cpu", kBool, kFile, kLaunch, "false", "", "", kAsIs, "use no GPU"},
    {"", "cpu", kBool, kSwitch, kLaunch, "false", "", "", kAsIs,
     "use no GPU; the default configuration file is then not read"},
    {"", "multi_gpu", kBool, kSwitch, kLaunch, "false", "", "", kAsIs, "train on several GPUs"},
    {"", "use_fsdp", kBool, kSwitch, kLaunch, "false", "", "", kAsIs, "shard the model (FSDP)"},
    {"", "use_deepspeed", kBool, kSwitch, kLaunch, "false", "", "", kAsIs, "use DeepSpeed"},
    {"", "use_megatron_lm", kBool, kSwitch, kLaunch, "false", "", "", kAsIs, "use Megatron-LM"},
    {"", "use_parallelism_config", kBool, kSwitch, kLaunch, "false", "", "", kAsIs,
     "combine kinds of parallelism; needs FSDP version 2"},
    {"", "num_processes", kInt, kFileAndFlag, kLaunch, "", "", "", kAsIs,
     "number of processes on all machines together (without a file: one per GPU, or one)"},
    {"", "num_machines", kInt, kFileAndFlag, kLaunch, "1", "", "", kAsIs, "number of machines"},
    {"", "machine_rank", kInt, kFileAndFlag, kReplaced, "0", "", "", kAsIs,
     "the coordinator numbers the machines; one command starts all of them"},
    {"", "coordinator", kText, kFileAndFlag, kLaunch, "", "", "", kAsIs,
     "HOST:PORT of the coordinator, for jobs on several machines (an own key of accel)"},
    {"", "gpu_ids", kText, kFileAndFlag, kLaunch, "all", "", "", kAsIs,
     "the GPUs of a machine that the job may use: all, or ids such as 0,1"},
    {"", "num_cpu_threads_per_process", kInt, kFlag, kWorkers, "", "", "OMP_NUM_THREADS", kAsIs,
     "threads of each process (default: OMP_NUM_THREADS, else the cores of a CPU job divided by "
     "its processes, else 1)"},
    {"", "enable_cpu_affinity", kBool, kFileAndSwitch, kLaunch, "false", "",
     "ACCELERATE_CPU_AFFINITY", kAsIs, "bind each process to the cores near its GPU"},
    {"", "debug", kBool, kFileAndSwitch, kLaunch, "false", "", "ACCELERATE_DEBUG_MODE", kAsIs,
     "compare the shapes of tensors across ranks before each collective"},
    {"", "max_restarts", kInt, kFlag, kLaunch, "0", "", "", kAsIs,
     "restart the job after a failure, in a new generation, at most N times"},
    {"", "role", kText, kFlag, kLaunch, "default", "", "ROLE_NAME", kAsIs,
     "name of the role of the workers"},
    {"", "log_dir", kText, kFlag, kLaunch, "", "", "", kAsIs,
     "keep each rank's output below this directory"},
    {"", "tee", kText, kFlag, kReplaced, "0", "", "", kAsIs,
     "output always goes to the terminal, and with --log_dir to files too"},
    {"", "quiet", kBool, kSwitch, kLaunch, "false", "", "", kAsIs,
     "print only the output of workers and errors"},
    {"", "main_process_ip", kText, kFileAndFlag, kReplaced, "", "", "", kAsIs,
     "the coordinator chooses the address of the job's store"},
    {"", "main_process_port", kInt, kFileAndFlag, kReplaced, "", "", "", kAsIs,
     "the job's store listens on a free port before a worker starts"},
    {"", "rdzv_backend", kText, kFileAndFlag, kReplaced, "static", "", "", kAsIs,
     "the job's store is the rendezvous"},
    {"", "rdzv_conf", kText, kFlag, kReplaced, "", "", "", kAsIs,
     "the job's store is the rendezvous"},
    {"", "same_network", kBool, kFileAndSwitch, kReplaced, "false", "", "", kAsIs,
     "nodes are reached at the addresses that their agents advertise"},
    {"", "monitor_interval", kFloat, kFlag, kReplaced, "0.1", "", "", kAsIs,
     "accel is notified of the end of a worker, without polling"},
    {"", "main_training_function", kText, kFileAndFlag, kReplaced, "main", "", "", kAsIs,
     "only TPUs start a function; other workers start the program"},
    {"mpirun_config", "mpirun_hostfile", kText, kFileAndFlag, kLaunch, "", "", "", kAsIs,
     "host file of mpirun; a launch with it is refused, because accel starts the processes"},
};

}  // namespace

absl::Span<const Setting> LaunchSettings() { return kSettings; }

}  // namespace accel::cli
