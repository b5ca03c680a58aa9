// A Unix account, as the user database of a node describes it. Plain data.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace accel::process {

struct Account {
  std::string name;
  uid_t uid = 0;
  gid_t gid = 0;
  std::vector<gid_t> groups;  // All groups, as getgrouplist() returns them.
  std::string home;
  std::string shell;
};

}  // namespace accel::process
