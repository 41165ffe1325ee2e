#include "server/translation/in_flight.h"

#include <memory>

#include "gtest/gtest.h"

namespace salient {
namespace {

class CountingTicket final : public TranslationTicket {
 public:
  explicit CountingTicket(int& cancelled) : cancelled_(cancelled) {}
  void Cancel() override { ++cancelled_; }

 private:
  int& cancelled_;
};

// Who waited for a model may let go of its ticket, which is told of after the one that the engine has given meanwhile.
TEST(InFlightTest, EveryTicketOfADocumentThatIsLeftCancelsIt) {
  InFlight in_flight;
  const auto slot = in_flight.Enter();
  ASSERT_TRUE(slot.ok());
  int of_engine = 0, of_waiting = 0, late = 0;
  const auto engines = std::make_shared<CountingTicket>(of_engine);
  auto waiting = std::make_shared<CountingTicket>(of_waiting);
  in_flight.AddTicket((*slot)->id(), engines);
  in_flight.AddTicket((*slot)->id(), waiting);
  waiting.reset();
  EXPECT_EQ(in_flight.CancelAll(), 1);
  EXPECT_EQ(of_engine, 1);
  EXPECT_EQ(of_waiting, 0);
  in_flight.AddTicket((*slot)->id(), std::make_shared<CountingTicket>(late));
  EXPECT_EQ(late, 1) << "it came too late";
}

}  // namespace
}  // namespace salient
