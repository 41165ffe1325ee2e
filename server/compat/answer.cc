#include "server/compat/answer.h"

#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "server/admission/admission.h"
#include "server/compat/reply.h"

namespace salient {

std::function<void()> AnswerTexts(CompatContext& context, const CallInfo& call, TextRequests texts,
                                  TextsAnswer answer) {
  const auto done = [&context, client = call.client.id(), characters = texts.characters, answer = std::move(answer)](
                        absl::StatusOr<std::vector<v1::TranslateDocumentResponse>> responses,
                        std::unique_ptr<Admission::Permit> permit) {
    if (!responses.ok()) return answer.reply(answer.service.Error(responses.status()));
    context.usage.Add(client, characters);
    HttpResponse response = answer.write(*responses);
    WarnIgnored(answer.ignored, &response);
    CountUntilRead(std::move(permit), &response);
    answer.reply(std::move(response));
  };
  return TranslateTexts(context.host, context.workers, call, std::move(texts.requests), done);
}

}  // namespace salient
