// qtx-backend-faulty NAME: the backend with that fault on stdin and stdout.
#include <cstdio>

#include "faulty.h"
#include "qtx/backend/serve.h"

int main(int argc, char** argv) {
  auto backend = qtx::backend::faulty::MakeFaulty(argc == 2 ? argv[1] : "");
  if (!backend) {
    std::fprintf(stderr, "usage: qtx-backend-faulty NAME (none, or a fault of its README)\n");
    return 2;
  }
  return qtx::backend::Serve(**backend);
}
