/* SPDX-License-Identifier: MIT */
/*
 * cacheray.h - annotate memory with types, and start and stop the recording of accesses.
 *
 *	#include <cacheray.h>
 *
 *	struct node *n = cacheray_malloc(struct node);        a typed allocation
 *	struct node *a = cacheray_calloc(struct node, 100);   an array
 *	...
 *	free(n);                                              also removes the annotation
 *
 *	cacheray_rtta_add(pool, sizeof(struct node), 64, "struct node");    any other memory
 *	cacheray_mark(1, "second phase");
 *
 * A program that is built with `corotracer mem cc` is traced.  Other programs link with
 * -lcacheray, or define CACHERAY_OFF: then the macros become plain malloc(), calloc() and
 * reallocarray(), and the functions do nothing.
 *
 * All functions may be called from any thread.  They report no error that the program has to
 * handle, do not print (except as CACHERAY_OPTIONS requests), and do not change errno.
 */
#ifndef CACHERAY_H
#define CACHERAY_H

#include <stddef.h>
#include <stdlib.h>
#ifdef __cplusplus
#include <cstddef>
#include <new>
#include <typeinfo>
#include <utility>
#if defined(__GNUG__)
#include <cxxabi.h>
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

#ifndef CACHERAY_OFF

/*
 * [address, address + elem_size * elem_count) holds values of @type from now on.  Replaces an
 * annotation that starts at the same address.  NULL and sizes of 0 are ignored.
 */
void cacheray_rtta_add(const void *address, size_t elem_size, size_t elem_count, const char *type);

/* Remove the annotation.  free, realloc and delete of the block also remove it. */
void cacheray_rtta_remove(const void *address);

/*
 * Start and stop the recording of accesses in all threads.  cacheray_start() returns 0, or -1 if
 * recording cannot be started.
 */
int cacheray_start(void);
void cacheray_stop(void);
int cacheray_recording(void);

/* Write a mark into the trace, at the current position of the calling thread. */
void cacheray_mark(unsigned long value, const char *text);

#else

static inline void cacheray_rtta_add(const void *address, size_t elem_size, size_t elem_count,
				     const char *type)
{
	(void)address, (void)elem_size, (void)elem_count, (void)type;
}
static inline void cacheray_rtta_remove(const void *address)
{
	(void)address;
}
static inline int cacheray_start(void)
{
	return -1;
}
static inline void cacheray_stop(void)
{
}
static inline int cacheray_recording(void)
{
	return 0;
}
static inline void cacheray_mark(unsigned long value, const char *text)
{
	(void)value, (void)text;
}

#endif

/* Annotate @count values of @type at @block.  Returns @block, which may be NULL. */
static inline void *cacheray_typed(void *block, size_t size, size_t count, const char *type)
{
	if (block)
		cacheray_rtta_add(block, size, count, type);
	return block;
}

#ifdef __cplusplus
#define CACHERAY_CAST(type, pointer) static_cast<type *>(pointer)
#else
#define CACHERAY_CAST(type, pointer) ((type *)(pointer))
#endif
#define cacheray_malloc(type) \
	CACHERAY_CAST(type, cacheray_typed(malloc(sizeof(type)), sizeof(type), 1, #type))
#define cacheray_calloc(type, count) \
	CACHERAY_CAST(type,          \
		      cacheray_typed(calloc((count), sizeof(type)), sizeof(type), (count), #type))
/* Resize @block, an array of @type or NULL, to @count values.  On NULL the old array is unchanged.
 */
#define cacheray_realloc(block, type, count)                                             \
	CACHERAY_CAST(type, cacheray_typed(reallocarray((block), (count), sizeof(type)), \
					   sizeof(type), (count), #type))

#ifdef __cplusplus
}

namespace cacheray
{

/* The name of CtpType as in source code, demangled once per type. */
template <class CtpType> inline const char *type_name()
{
#if defined(__GNUG__) && defined(__GXX_RTTI)
	static const char *const name = abi::__cxa_demangle(typeid(CtpType).name(), nullptr,
							    nullptr, nullptr);
	return name ? name : "?";
#else
	return "?";
#endif
}

/* Annotate @count values of CtpType at @block. */
template <class CtpType> inline CtpType *annotate(CtpType *block, std::size_t count = 1)
{
	if (block)
		cacheray_rtta_add(static_cast<const void *>(block), sizeof(CtpType), count,
				  type_name<CtpType>());
	return block;
}

/* new CtpType(args...), annotated; a normal delete frees it. */
template <class CtpType, class... Args> inline CtpType *make(Args &&...args)
{
	return annotate(new CtpType(std::forward<Args>(args)...));
}

/* An annotation for the lifetime of the scope object: for arrays, arenas and members. */
class scope
{
      public:
	template <class CtpType> explicit scope(CtpType *block, std::size_t count = 1) : at(block)
	{
		annotate(block, count);
	}
	~scope()
	{
		cacheray_rtta_remove(at);
	}
	scope(const scope &) = delete;
	scope &operator=(const scope &) = delete;

      private:
	const void *at;
};

/* For containers: std::vector<T, cacheray::allocator<T>>. */
template <class CtpType> struct allocator {
	typedef CtpType value_type;
	allocator() noexcept
	{
	}
	template <class CtpOther> allocator(const allocator<CtpOther> &) noexcept
	{
	}
	CtpType *allocate(std::size_t number)
	{
		return annotate(static_cast<CtpType *>(::operator new(number * sizeof(CtpType))),
				number);
	}
	void deallocate(CtpType *block, std::size_t) noexcept
	{
		::operator delete(block);
	}
};
template <class CtpType, class CtpOther>
inline bool operator==(const allocator<CtpType> &, const allocator<CtpOther> &) noexcept
{
	return true;
}
template <class CtpType, class CtpOther>
inline bool operator!=(const allocator<CtpType> &, const allocator<CtpOther> &) noexcept
{
	return false;
}

} // namespace cacheray
#endif

#endif
