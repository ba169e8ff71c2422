/* SPDX-License-Identifier: MIT */
/*
 * cacheray.h - tell a memory trace about types, and steer it.
 *
 *	#include <cacheray.h>
 *
 *	struct node *n = cacheray_malloc(struct node);        a typed allocation
 *	struct node *a = cacheray_calloc(struct node, 100);   an array
 *	...
 *	free(n);                                              takes the annotation with it
 *
 *	cacheray_rtta_add(pool, sizeof(struct node), 64, "struct node");    anything else
 *	cacheray_mark(1, "second phase");
 *
 * Build the program with `corotracer mem cc` and it is traced; without it, link with
 * -lcacheray, or define CACHERAY_OFF and all of this becomes plain malloc and nothing.
 *
 * All functions may be called from any thread.  They never fail in a way that the program
 * would have to care about, never print (but see CACHERAY_OPTIONS), never change errno.
 */
#ifndef CACHERAY_H
#define CACHERAY_H

#include <stddef.h>
#include <stdlib.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef CACHERAY_OFF

/*
 * [address, address + elem_size * elem_count) holds values of @type from here on.  Replaces an
 * annotation that starts at the same address.  NULL and sizes of 0 are ignored.
 */
void cacheray_rtta_add(const void *address, size_t elem_size, size_t elem_count, const char *type);

/* No longer.  free, realloc and delete of the block do it by themselves. */
void cacheray_rtta_remove(const void *address);

/* Record accesses, or not, in all threads.  start: 0, or -1 if there is nothing to start. */
int cacheray_start(void);
void cacheray_stop(void);
int cacheray_recording(void);

/* A remark in the trace, where this thread is. */
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

/* What @p points to is @count values of @type; returns @p, which may be NULL. */
static inline void *cacheray_typed(void *p, size_t size, size_t count, const char *type)
{
	if (p)
		cacheray_rtta_add(p, size, count, type);
	return p;
}

#define cacheray_malloc(type) ((type *)cacheray_typed(malloc(sizeof(type)), sizeof(type), 1, #type))
#define cacheray_calloc(type, count) \
	((type *)cacheray_typed(calloc((count), sizeof(type)), sizeof(type), (count), #type))
/* @p, an array of @type or NULL, grows or shrinks to @count; NULL: it is as it was. */
#define cacheray_realloc(p, type, count)                                                         \
	((type *)cacheray_typed(reallocarray((p), (count), sizeof(type)), sizeof(type), (count), \
				#type))

#ifdef __cplusplus
}

#include <cstddef>
#include <new>
#include <typeinfo>
#include <utility>
#if defined(__GNUG__)
#include <cxxabi.h>
#endif

namespace cacheray
{

/* The name of T as one writes it, found once per type. */
template <class T> inline const char *type_name()
{
#if defined(__GNUG__) && defined(__GXX_RTTI)
	static const char *const name = abi::__cxa_demangle(typeid(T).name(), nullptr, nullptr,
							    nullptr);
	return name ? name : "?";
#else
	return "?";
#endif
}

/* @count values of T start at @p. */
template <class T> inline T *annotate(T *p, std::size_t count = 1)
{
	if (p)
		cacheray_rtta_add(static_cast<const void *>(p), sizeof(T), count, type_name<T>());
	return p;
}

/* new T(args...), annotated; delete it as usual. */
template <class T, class... Args> inline T *make(Args &&...args)
{
	return annotate(new T(std::forward<Args>(args)...));
}

/* An annotation as long as the object that holds it: for arrays, arenas and members. */
class scope
{
      public:
	template <class T> explicit scope(T *p, std::size_t count = 1) : at(p)
	{
		annotate(p, count);
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
template <class T> struct allocator {
	typedef T value_type;
	allocator() noexcept
	{
	}
	template <class U> allocator(const allocator<U> &) noexcept
	{
	}
	T *allocate(std::size_t n)
	{
		return annotate(static_cast<T *>(::operator new(n * sizeof(T))), n);
	}
	void deallocate(T *p, std::size_t) noexcept
	{
		::operator delete(p);
	}
};
template <class T, class U>
inline bool operator==(const allocator<T> &, const allocator<U> &) noexcept
{
	return true;
}
template <class T, class U>
inline bool operator!=(const allocator<T> &, const allocator<U> &) noexcept
{
	return false;
}

} // namespace cacheray
#endif

#endif
