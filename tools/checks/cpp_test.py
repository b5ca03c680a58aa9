import unittest

from tools.checks import cpp
from tools.checks.cpp_scopes import declarations


def kinds(text):
    return [(token.kind, token.text) for token in cpp.tokens(text)]


class Tokens(unittest.TestCase):
    def test_quotes_in_comments_and_comments_in_quotes(self):
        self.assertEqual(kinds('a // it\'s "\n"// b" /* " */'),
                         [("name", "a"), ("comment", '// it\'s "'), ("string", '"// b"'), ("comment", '/* " */')])

    def test_a_raw_string_ends_at_its_delimiter(self):
        self.assertEqual(kinds('R"x( )" )x" b'), [("raw", 'R"x( )" )x"'), ("name", "b")])

    def test_a_digit_separator_opens_no_character(self):
        self.assertEqual(kinds("1'000 + 'a'"), [("number", "1'000"), ("mark", "+"), ("char", "'a'")])

    def test_a_directive_continues_after_a_backslash(self):
        self.assertEqual(kinds("#define A \\\n  b\nc"), [("directive", "#define A \\\n  b"), ("name", "c")])

    def test_lines_are_counted_through_literals_of_several(self):
        self.assertEqual([token.line for token in cpp.tokens('a\nR"(\n\n)"\nb')], [1, 2, 5])


class Declarations(unittest.TestCase):
    def declared(self, text):
        return [(found.kind, found.name, found.is_definition, found.is_local)
                for found in declarations(cpp.tokens(text))]

    def test_scopes(self):
        self.assertEqual(self.declared("""
            namespace a::b {
            class C : public D<int(char)> {
             public:
              C() : x_{1}, y_(2) {}
              int Get() const { return x_; }
              struct E { int z = 0; };
            };
            namespace { struct F {}; }
            int C::Other(int a = {}) { if (a) { return 1; } return 2; }
            }
            void G();"""), [
                ("class", "a::b::C", True, False), ("function", "a::b::C::C", True, False),
                ("function", "a::b::C::Get", True, False), ("class", "a::b::C::E", True, False),
                ("variable", "a::b::C::E::z", True, False), ("class", "a::b::F", True, True),
                ("function", "a::b::C::Other", True, False), ("function", "G", False, False)])

    def test_code_that_is_not_a_function(self):
        self.assertEqual(self.declared("""
            inline constexpr int kA[] = {1, 2};
            constexpr int kB = f(3);
            const auto kC = [](int x) { return x; };
            std::vector<int> d{1};
            enum class E : int { kOne };
            class Forward;
            using X = int;"""), [
                ("variable", "kA", True, False), ("variable", "kB", True, True), ("variable", "kC", True, True),
                ("variable", "d", True, False), ("class", "E", True, False)])

    def test_templates_attributes_and_operators(self):
        self.assertEqual(self.declared("""
            template <typename T, typename = std::enable_if_t<(sizeof(T) > 4)>> [[nodiscard]] T Make(T t) { return t; }
            class ABSL_LOCKABLE Lock { void Do() ABSL_LOCKS_EXCLUDED(m_) {} };
            template <> struct hash<Id> { size_t operator()(const Id& id) const { return 1; } };
            bool operator==(const A& a, const A& b) { return true; }
            auto Last() -> std::vector<int> { return {}; }
            static int Own() { return 1; }"""), [
                ("function", "Make", True, False), ("class", "Lock", True, False), ("function", "Lock::Do", True, False),
                ("class", "hash<Id>", True, False), ("function", "hash<Id>::operator()", True, False),
                ("function", "operator==", True, False), ("function", "Last", True, False),
                ("function", "Own", True, True)])


if __name__ == "__main__":
    unittest.main()
