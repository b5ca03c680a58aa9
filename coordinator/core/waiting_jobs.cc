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
  WaitingGroup& group = groups_[shape];
  if (group.all.emplace(id, entry).second) group.others.emplace(id, entry);
}

void WaitingLine::Erase(const common::JobId& id, const std::string& shape) {
  const auto group = groups_.find(shape);
  if (group == groups_.end()) return;
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
