// What a request to translate is answered with, which is the same for all services but for the shape of their replies.

#pragma once

#include <functional>
#include <string>
#include <vector>

#include "salient/v1/translation.pb.h"
#include "server/admission/client.h"
#include "server/compat/context.h"
#include "server/compat/service.h"
#include "server/compat/texts.h"
#include "server/http/message.h"

namespace salient {

struct TextsAnswer {
  const CompatService& service;  // whose errors they are
  HttpHandler::Reply reply;
  std::string ignored;  // fields of the request
  // The service's reply, of one response for each text.
  std::function<HttpResponse(const std::vector<v1::TranslateDocumentResponse>&)> write;
};

// The result of a request to translate that has no reply yet: a failure is told to the host as a refusal.
template <class Result>
Result Told(CompatContext& context, const CallInfo& call, Result result) {
  if (!result.ok()) context.host.TellRefused(call, result.status());
  return result;
}

// Translates the texts, and replies once: with what `write` makes of them, after their characters were counted as the
// client's; or with the first failure. Until the client has read the reply, all of it counts as the client's. Returns a
// function that cancels. `context` and the service must live until the reply.
std::function<void()> AnswerTexts(CompatContext& context, const CallInfo& call, TextRequests texts, TextsAnswer answer);

}  // namespace salient
