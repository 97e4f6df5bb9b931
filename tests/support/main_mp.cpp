// SPDX-License-Identifier: Apache-2.0
// main() of the tests whose processes start by spawn and forkserver too.
#include <catch2/catch_session.hpp>

#include "plab/mp/init.h"

int main(int argc, char** argv) {
  plab::mp::init(argc, argv);
  return Catch::Session().run(argc, argv);
}
