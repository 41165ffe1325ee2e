// Bounds JSON before anything is built of it: counts values and depth in nlohmann's SAX parser, which stops where there
// is too much. Derive from it to look at more.
//
//   JsonCounter counter(20000, 16);
//   if (!nlohmann::json::sax_parse(text, &counter)) ...  // too_many, too_deep, or wrong at error_position

#pragma once

#include <cstddef>
#include <string>

#include "nlohmann/json.hpp"

namespace salient {

class JsonCounter : public nlohmann::json_sax<nlohmann::json> {
 public:
  // Values are numbers, strings, arrays and so on; names of fields do not count. A scalar outside of arrays and objects
  // has the depth 0.
  JsonCounter(size_t most_values, size_t most_depth) : most_values_(most_values), most_depth_(most_depth) {}

  bool null() override { return Count(); }
  bool boolean(bool) override { return Count(); }
  bool number_integer(number_integer_t) override { return Count(); }
  bool number_unsigned(number_unsigned_t) override { return Count(); }
  bool number_float(number_float_t, const string_t&) override { return Count(); }
  bool string(string_t&) override { return Count(); }
  bool binary(binary_t&) override { return Count(); }
  bool start_object(size_t) override { return Begin(); }
  bool key(string_t&) override { return true; }
  bool end_object() override { return End(); }
  bool start_array(size_t) override { return Begin(); }
  bool end_array() override { return End(); }
  bool parse_error(size_t position, const std::string&, const nlohmann::detail::exception&) override {
    error_position_ = position;
    return false;
  }

  bool too_many() const { return values_ > most_values_; }
  bool too_deep() const { return depth_ > most_depth_; }
  size_t error_position() const { return error_position_; }  // 0: no error

 private:
  bool Count() {
    ++values_;
    return !too_many();
  }
  bool Begin() {
    ++depth_;
    return Count() && !too_deep();
  }
  bool End() {
    --depth_;
    return true;
  }

  const size_t most_values_, most_depth_;
  size_t values_ = 0, depth_ = 0, error_position_ = 0;
};

}  // namespace salient
