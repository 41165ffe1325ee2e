#include "cli/help.h"

#include <sstream>

namespace salient {
namespace {

constexpr size_t kWidth = 110;
constexpr size_t kIndent = 36;  // where descriptions begin

class Formatter : public CLI::Formatter {
 public:
  std::string make_description(const CLI::App* app) const override { return app->get_description() + "\n\n"; }

  std::string make_option(const CLI::Option* option, bool is_positional) const override {
    std::string text = "  " + make_option_name(option, is_positional) + (is_positional ? "" : make_option_opts(option));
    // The description of an option that is too long for its column begins on the next line.
    size_t column = text.size();
    if (column + 1 > kIndent) {
      text += "\n";
      column = 0;
    }
    text.append(kIndent - column, ' ');
    return text + Wrap(make_option_desc(option)) + "\n";
  }

  // Shows the type only; the description says which values it may have.
  std::string make_option_opts(const CLI::Option* option) const override {
    if (option->get_type_size() == 0) return "";
    const std::string type = option->get_type_name();
    return " " + type.substr(0, type.find(':'));
  }

  std::string make_option_desc(const CLI::Option* option) const override {
    std::string text = option->get_description();
    if (option->get_required()) text += " (required)";
    if (!option->get_default_str().empty()) text += " (default: " + option->get_default_str() + ")";
    return text;
  }

 private:
  static std::string Wrap(const std::string& text) {
    std::istringstream words(text);
    std::string wrapped, word;
    size_t column = kIndent;
    while (words >> word) {
      if (column + 1 + word.size() > kWidth) {
        wrapped += "\n" + std::string(kIndent, ' ');
        column = kIndent;
      } else if (column > kIndent) {
        wrapped += " ";
        ++column;
      }
      wrapped += word;
      column += word.size();
    }
    return wrapped;
  }
};

}  // namespace

std::shared_ptr<CLI::FormatterBase> HelpFormatter() { return std::make_shared<Formatter>(); }

}  // namespace salient
