// SPDX-License-Identifier: Apache-2.0
// main() of the tests of the layers below mp.
#include <catch2/catch_session.hpp>

int main(int argc, char** argv) { return Catch::Session().run(argc, argv); }
