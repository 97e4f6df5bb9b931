// SPDX-License-Identifier: Apache-2.0
// What lab.hpp gives: the real thing, unless the calling thread is in a model.
#include "07_simple-queue/lab.hpp"
#include "plab/base/deadline.h"
#include "tests/labs/07_simple-queue/model.h"

namespace lab07 {

using plab::Deadline;

std::uint64_t Word::load(std::memory_order order) const {
  if (Model::current() != nullptr) return Model::current()->load(*this, order);
  return value_.load(order);
}
void Word::store(std::uint64_t value, std::memory_order order) {
  if (Model::current() != nullptr) return Model::current()->store(*this, value, order);
  value_.store(value, order);
}
std::uint64_t Word::exchange(std::uint64_t value, std::memory_order order) {
  if (Model::current() != nullptr) return Model::current()->exchange(*this, value, order);
  return value_.exchange(value, order);
}
void Slot::write(const Item& item) {
  if (Model::current() != nullptr) Model::current()->write(*this);
  item_ = item;
}
Item Slot::read() const {
  if (Model::current() != nullptr) Model::current()->read(*this);
  return item_;
}
void Semaphore::wait(std::source_location where) {
  if (Model::current() != nullptr) return Model::current()->wait(*this);
  ++waiting_;
  (void)permits_.wait(Deadline::never(), where);
  --waiting_;
}
void Semaphore::post() {
  if (Model::current() != nullptr) return Model::current()->post(*this);
  permits_.post();
}
void Lock::lock() {
  if (Model::current() != nullptr) return Model::current()->lock(*this);
  (void)mutex_.lock(Deadline::never());
}
void Lock::unlock() {
  if (Model::current() != nullptr) return Model::current()->unlock(*this);
  mutex_.unlock();
}

}  // namespace lab07
