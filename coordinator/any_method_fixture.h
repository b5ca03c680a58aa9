// A fixture for tests that call every method of the coordinator's services by its name.
#pragma once

#include <grpcpp/generic/generic_stub.h>
#include <stdlib.h>

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "coordinator/blobs/blob_service.h"
#include "coordinator/blobs/blob_store.h"
#include "coordinator/members/access_desk.h"
#include "coordinator/members/access_service.h"
#include "coordinator/members/cluster_authority.h"
#include "coordinator/members/coordinator_slot.h"
#include "coordinator/members/present_authority.h"
#include "coordinator/service_fixture.h"
#include "proto/access.pb.h"
#include "proto/blobs.pb.h"

namespace accel::coordinator {

// A folder for blobs, which is removed at the end.
class BlobTestFolder {
 public:
  BlobTestFolder() { EXPECT_NE(mkdtemp(path_.data()), nullptr); }
  ~BlobTestFolder() { std::filesystem::remove_all(path_); }

  const std::string& path() const { return path_; }

 private:
  std::string path_ = "/tmp/blobs.XXXXXX";
};

// The services Access and Blobs, with the objects that they need. They are made before the server,
// because it registers them.
class AccessOfTest {
 protected:
  AccessOfTest()
      : authority_(*ClusterAuthority::Make("c1", absl::Now())),
        desk_(&slot_, &authority_),
        service_(&desk_, &slot_, "c1"),
        blobs_(*BlobStore::Open({.path = blob_folder_.path()})),
        blob_service_(blobs_.get(), &slot_) {}

  ServerOptions With(ServerOptions options) {
    service_.AddTo(&options.handlers);
    blob_service_.AddTo(&options.handlers);
    options.check_upload = [this](const std::string& user, const std::string& tree, auto done) {
      blob_service_.CheckUpload(user, tree, std::move(done));
    };
    return options;
  }

  CoordinatorSlot slot_;

 private:
  const PresentAuthority authority_;
  AccessDesk desk_;
  AccessService service_;
  const BlobTestFolder blob_folder_;

 protected:
  const std::unique_ptr<BlobStore> blobs_;
  BlobService blob_service_;
};

class AnyMethodTest : private AccessOfTest, public ServiceTest {
 protected:
  using AccessOfTest::blob_service_;
  using AccessOfTest::blobs_;

  explicit AnyMethodTest(ServerOptions options = {}) : ServiceTest(With(std::move(options))) {
    slot_.Set(server_->coordinator(), server_->entrance(), "");
  }

  // Changes the table of members, and waits until the change is stored.
  void Change(absl::AnyInvocable<void(const AccessTurn&)> change) {
    absl::Notification done;
    server_->coordinator()->WithAccess(
        [&change](const AccessTurn& turn) {
          change(turn);
          return absl::OkStatus();
        },
        [&done](const absl::Status& status) {
          EXPECT_OK(status);
          done.Notify();
        });
    done.WaitForNotification();
  }

  // Makes a user of each caller that is one.
  void AddUsers(const std::map<std::string, Caller>& callers) {
    Change([&callers](const AccessTurn& turn) {
      for (const auto& [_, caller] : callers) {
        if (caller.kind != CallerKind::kUser) continue;
        const MemberId id(v1::USER_MEMBER, caller.name);
        v1::Member& user = turn.access->members[id];
        user.set_kind(id.first);
        user.set_id(id.second);
        turn.changes->members.insert(id);
      }
    });
  }

  // Calls the method with this name, such as "Coordinator/ListJobs", with `bytes` as the request.
  // Returns the status of the call.
  absl::Status CallByName(const std::string& method, const std::string& authorization,
                          const std::string& bytes) {
    grpc::GenericStub generic(channel_);
    const auto context = Call(authorization);
    const grpc::Slice slice(bytes);
    const grpc::ByteBuffer request(&slice, 1);
    grpc::ByteBuffer response;
    grpc::Status status;
    absl::Notification done;
    generic.UnaryCall(context.get(), "/accel.v1." + method, grpc::StubOptions(), &request,
                      &response, [&status, &done](grpc::Status ended) {
                        status = std::move(ended);
                        done.Notify();
                      });
    done.WaitForNotification();
    return common::FromGrpc(status);
  }

  static std::vector<std::string> Methods() {
    std::vector<std::string> names;
    for (const auto* file :
         {v1::SubmitJobRequest::descriptor()->file(), v1::AddTokenRequest::descriptor()->file(),
          v1::BlobChunk::descriptor()->file()}) {
      for (int i = 0; i < file->service_count(); ++i) {
        const auto* service = file->service(i);
        for (int j = 0; j < service->method_count(); ++j) {
          names.push_back(service->name() + "/" + service->method(j)->name());
        }
      }
    }
    return names;
  }
};

}  // namespace accel::coordinator
