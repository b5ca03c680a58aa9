// Reports of nodes for tests, in which single fields change.
#pragma once

#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include "coordinator/core/node_report.h"

namespace accel::coordinator {

// Changes the value of the field, which is no map and no oneof.
inline void Change(const google::protobuf::FieldDescriptor& field, v1::NodeObserved* report) {
  using google::protobuf::FieldDescriptor;
  const google::protobuf::Reflection& reflection = *report->GetReflection();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return field.is_repeated() ? static_cast<void>(reflection.AddMessage(report, &field))
                                 : reflection.ClearField(report, &field);
    case FieldDescriptor::CPPTYPE_STRING:
      return field.is_repeated() ? reflection.AddString(report, &field, "new")
                                 : reflection.SetString(report, &field, "new");
    case FieldDescriptor::CPPTYPE_INT32:
      return reflection.SetInt32(report, &field, 77);
    case FieldDescriptor::CPPTYPE_INT64:
      return reflection.SetInt64(report, &field, 77);
    case FieldDescriptor::CPPTYPE_UINT64:
      return reflection.SetUInt64(report, &field, 77);
    default:
      FAIL() << "this test cannot change " << field.name();
  }
}

// Returns the report as a stream reads it if its description is that of the report before.
inline v1::NodeObserved WithoutDescription(v1::NodeObserved report) {
  const google::protobuf::Descriptor& type = *v1::NodeObserved::GetDescriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    if (!DescribesNode(type.field(i)->number())) continue;
    report.GetReflection()->ClearField(&report, type.field(i));
  }
  return report;
}

// Returns the report as that stream passes it on, with the news that it found.
inline NodeReport Partial(const v1::NodeObserved& report, News news) {
  NodeReport partial = WithoutDescription(report);
  partial.news = news;
  return partial;
}

}  // namespace accel::coordinator
