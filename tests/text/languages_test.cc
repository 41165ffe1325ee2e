// Every language with its own rules for sentences: at least two sentences, with something that only looks like the end
// of a sentence.

#include <string>
#include <vector>

#include "engine/text/document.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace salient {
namespace {

struct Language {
  const char* tag;
  std::vector<const char*> sentences;
  const char* between = " ";
};

class LanguagesTest : public testing::TestWithParam<Language> {};

TEST_P(LanguagesTest, SentencesAreCutWhereTheyEnd) {
  std::string text;
  std::vector<std::string> expected;
  for (const char* sentence : GetParam().sentences) {
    if (!text.empty()) text += GetParam().between;
    text += sentence;
    expected.emplace_back(sentence);
  }
  const auto document = SplitDocument(text, Segmentation::kSentences, GetParam().tag);
  ASSERT_TRUE(document.ok()) << document.status();
  std::vector<std::string> found;
  for (const Segment& segment : document->segments) found.push_back(segment.text);
  EXPECT_EQ(found, expected);
}

const Language kLanguages[] = {
    {"en", {"Dr. Smith paid $3.50 to J. R. Jones, e.g. Monday.", "See No. 5!", "Really?"}},
    {"de", {"Am 3. Oktober kam Prof. Dr. Klein, z. B. Anna.", "Siehe Nr. 712.", "Wirklich?"}},
    {"fr", {"Mme. Curie et M. Dupont, cf. Annexe deux.", "Voir p. 12 et art. 3.", "Vraiment ?"}},
    {"es", {"El Sr. García y la Dra. Ruiz, p.ej. Ana.", "Véase pág. 4.", "¿De verdad?", "¡Sí!"}},
    {"it", {"Il sig. Rossi e il dott. Bianchi, p.es. Anna.", "Vedi art. 5.", "Davvero?"}},
    {"pt", {"O Sr. Silva e a Dra. Costa, p.ex. Ana.", "Ver art. 9.", "Verdade?"}},
    {"nl", {"Dhr. Jansen en mevr. De Vries, bijv. Anna.", "Zie blz. 12.", "Echt waar?"}},
    {"sv", {"Det var t.ex. Anna och dr. Berg.", "Se kap. 312.", "Verkligen?"}},
    {"da", {"Det var f.eks. Anna og hr. Berg, den 3. Maj.", "Se kap. 312.", "Virkelig?"}},
    {"nb", {"Det var f.eks. Anna og hr. Berg.", "Se kap. 312.", "Virkelig?"}},
    {"pl", {"Przyszedł prof. Nowak, np. Anna, z ul. Długiej.", "Zob. art. 512.", "Naprawdę?"}},
    {"cs", {"Přišel prof. Novák, např. Anna, dne 3. Ledna.", "Viz str. 512.", "Opravdu?"}},
    {"sk", {"Prišiel prof. Novák, napr. Anna.", "Pozri str. 512.", "Naozaj?"}},
    {"ru", {"Пришёл проф. Иванов, т.е. Анна, с ул. Ленина.", "См. рис. 5.", "Правда?"}},
    {"uk", {"Прийшов проф. Іваненко, напр. Анна.", "Див. рис. 5.", "Справді?"}},
    {"fi", {"Tuli esim. Anna ja prof. Virtanen, 3. Luokka.", "Katso nro. 512.", "Todellako?"}},
    {"hu", {"Jött pl. Anna és dr. Kovács.", "Az 5. Fejezet az.", "Tényleg?"}},
    {"ro", {"A venit dl. Popescu, de ex. Ana.", "Vezi art. 5.", "Serios?"}},
    {"el", {"Ήρθε π.χ. Άννα και ο κ. Παπάς.", "Βλέπε σελ. 5.", "Αλήθεια;"}},
    {"tr", {"Geldi Prof. Dr. Yılmaz, örn. Ayşe.", "Bkz. md. 512.", "Gerçekten mi?"}},
    {"ja", {"これは文です。", "次の文です！", "本当ですか？"}, ""},
    {"zh", {"这是第一句。", "这是第二句！", "真的吗？"}, ""},
    {"ko", {"첫 번째 문장입니다.", "두 번째입니다.", "정말요?"}},
    {"ar", {"هذه جملة.", "هذه أخرى!", "حقا؟"}},
    {"hi", {"यह एक वाक्य है।", "यह दूसरा है।", "सच में?"}},
};

INSTANTIATE_TEST_SUITE_P(All, LanguagesTest, testing::ValuesIn(kLanguages),
                         [](const auto& test) { return std::string(test.param.tag); });

}  // namespace
}  // namespace salient
