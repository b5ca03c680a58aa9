#include "coordinator/core/waiting_jobs.h"

namespace accel::coordinator {
namespace {

void Move(const std::vector<common::JobId>& ids, WaitingLine::Jobs* to, WaitingGroup* group) {
  for (const common::JobId& id : ids) {
    const auto job = group->all.find(id);
    if (job == group->all.end()) continue;
    for (WaitingLine::Jobs* jobs : {&group->answered, &group->behind, &group->others}) {
      if (jobs != to) jobs->erase(id);
    }
    to->insert(*job);
  }
}

}  // namespace

void WaitingLine::Insert(const common::JobId& id, const std::string& shape, const JobEntry* entry) {
  if (!all_.emplace(id, entry).second) return;
  WaitingGroup& group = groups_[shape];
  group.all.emplace(id, entry);
  group.others.emplace(id, entry);
}

void WaitingLine::Erase(const common::JobId& id, const std::string& shape) {
  if (all_.erase(id) == 0) return;
  const auto group = groups_.find(shape);
  for (Jobs* jobs : {&group->second.all, &group->second.answered, &group->second.behind,
                     &group->second.others}) {
    jobs->erase(id);
  }
  if (group->second.all.empty()) groups_.erase(group);
}

void WaitingLine::Remember(const GroupNews& news) {
  const auto found = groups_.find(news.shape);
  if (found == groups_.end()) return;
  WaitingGroup& group = found->second;
  if (news.answer.has_value()) group.answer = *news.answer;
  Move(news.answered, &group.answered, &group);
  Move(news.behind, &group.behind, &group);
}

}  // namespace accel::coordinator
