// Finds values by their names, in variables and in the messages that refuse them. Pure.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace accel::runtime {

// Returns a text from outside in quotes. A long text is cut, so that a message remains readable.
std::string in_quotes(std::string_view text);

// Returns the position in `names` of the name that equals `text`, in upper or lower case. Returns
// names.size() if there is none.
std::size_t find_name(std::string_view text, std::span<const std::string_view> names);

// Throws std::invalid_argument: `key` has the value `text`, and should be one of `names`. `also`
// follows the names. The nearest name, if there is one, ends the message.
[[noreturn]] void refuse_name(std::string_view key, std::string_view text,
                              std::span<const std::string_view> names, std::string_view also = "");

// Returns ", did you mean NAME?" with the nearest of these names, or an empty text if none is near.
std::string suggestion(std::string_view text, std::span<const std::string_view> names);

}  // namespace accel::runtime
