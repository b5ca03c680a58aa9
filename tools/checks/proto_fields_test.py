import unittest

from tools.checks.proto_fields import faults
from tools.checks.tree import Tree

_PROTO = """message Job {
  int32 a = 1;
  int32 b = 2;  // Beside it.
  Part part = 3;
  repeated Part parts = 4;
}
message Part {
  int32 a = 1;
}
"""
# Reads and writes all of it.
_ALL = """
void Write(v1::Job* job) { job->set_a(1); job->set_b(2); job->mutable_part()->set_a(3); job->add_parts(); }
int Read(const v1::Job& job) { return job.a() + job.b() + job.part().a() + job.parts_size(); }
"""


def found(code, proto=_PROTO, **files):
    return faults(Tree({"p.proto": proto, "x.cc": code, **{name + ".cc": text for name, text in files.items()}}))


class ProtoFields(unittest.TestCase):
    def test_known_to_both_sides(self):
        self.assertEqual(found(_ALL), [])

    def test_one_side_only(self):
        self.assertEqual(found(_ALL.replace("job->set_b(2);", "")), ["p.proto:3: Job.b: read, never written"])
        self.assertEqual(found(_ALL.replace("+ job.b()", "")), ["p.proto:3: Job.b: written, never read"])
        self.assertEqual(found(_ALL.replace("job->set_b(2);", "").replace("+ job.b()", "")),
                         ["p.proto:3: Job.b: neither read nor written"])

    def test_tests_do_not_count(self):
        self.assertEqual(found(_ALL.replace("+ job.b()", ""), x_test="int R(const v1::Job& j) { return j.b(); }"),
                         ["p.proto:3: Job.b: written, never read"])

    def test_fields_of_one_name_are_told_apart_by_type(self):
        unread = _ALL.replace("job.a() + ", "")
        wanted = ["p.proto:2: Job.a: written, never read"]
        self.assertEqual(found(unread), wanted)
        for reader in ("v1::Part Make();\nint F() { return Make().a(); }",
                       "int F(const v1::Job& j) { int n = 0; for (const auto& p : j.parts()) n += p.a(); return n; }",
                       "int F(v1::Job j) { const auto& first = j.parts(0); return first.a(); }",
                       "int F(std::vector<v1::Part> v) { return v[0].a() + v.at(1).a() + (*v.begin()).a(); }"):
            self.assertEqual(found(unread + reader), wanted)

    def test_what_cannot_be_told_counts_for_all(self):
        self.assertEqual(found(_ALL.replace("job.a() + ", "") + "int F(const auto& x) { return x.a(); }"), [])
        self.assertEqual(found(_ALL.replace("job.a() + ", "") + "void F() { auto [key, job] = First(); Use(job.a()); }"), [])

    def test_printed_whole(self):
        self.assertEqual(found(_ALL.replace("+ job.b()", "") + "void P(const v1::Job& job) { ToJson(job, true); }"), [])

    def test_a_reservation_is_in_the_comment_of_the_field(self):
        unread = _ALL.replace("+ job.b()", "")
        for comment in ("  int32 b = 2;  // Reserved for later.\n", "  // Reserved for\n  // later.\n  int32 b = 2;\n",
                        "  int32 b = 2;  // Of it. Reserved for later.\n"):
            self.assertEqual(found(unread, _PROTO.replace("  int32 b = 2;  // Beside it.\n", comment)), [])
        self.assertEqual(len(found(unread, _PROTO.replace("Beside it.", "Not reserved for anything."))), 1)


if __name__ == "__main__":
    unittest.main()
