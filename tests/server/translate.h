// TranslateDocument over a real connection to a test server.

#pragma once

#include "grpcpp/client_context.h"
#include "tests/server/test_server.h"

namespace salient {

struct Reply {
  grpc::Status status;
  v1::TranslateDocumentResponse response;
};

inline Reply Translate(TestServer& server, const v1::TranslateDocumentRequest& request) {
  Reply reply;
  grpc::ClientContext context;
  reply.status = server.stub().TranslateDocument(&context, request, &reply.response);
  return reply;
}

}  // namespace salient
