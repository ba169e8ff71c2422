// SPDX-License-Identifier: MIT
// fd.h - a descriptor that is closed with its owner.
#pragma once

#include <corotracer/coroTracer.h>

#include <unistd.h>
#include <utility>

class Fd
{
      public:
	Fd() = default;
	explicit Fd(int fd) : fd_(fd)
	{
	}
	Fd(Fd &&other) noexcept : fd_(std::exchange(other.fd_, -1))
	{
	}
	Fd &operator=(Fd &&other) noexcept
	{
		std::swap(fd_, other.fd_);
		return *this;
	}
	~Fd()
	{
		if (fd_ < 0)
			return;
		corotracer::closing(fd_); // the number is reused after close()
		close(fd_);
	}

	int get() const
	{
		return fd_;
	}

      private:
	int fd_ = -1;
};
