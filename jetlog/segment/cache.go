package segment

import "sync"

// Cache keeps what segments have read: blocks, pages of dictionaries and facts, and the sequences that
// filters select. Many segments share one; it is safe for concurrent use. What was used least recently goes
// first.
//
// It is sixteen caches with a lock each, so that readers seldom wait for one another. Nothing is called
// while a lock is held, and what is kept is immutable, so that it may be used after it was dropped.
type Cache struct {
	shards [cacheShards]cacheShard

	mu   sync.Mutex // guards last
	last uint64     // number of the last segment that was opened
}

const (
	cacheShards   = 16
	cacheOverhead = 160 // bytes that an item takes besides its content, about
)

// cacheKey names an item: a chunk by its offset, or a set by its filter and the offset of the index of subjects.
type cacheKey struct {
	segment uint64
	offset  uint64
	filter  string // empty for a chunk
}

// cacheItem is in the list of its shard, which is a ring through its head.
type cacheItem struct {
	key        cacheKey
	chunk      []byte
	set        *set
	bytes      int
	prev, next *cacheItem
}

type cacheShard struct {
	mu    sync.Mutex // guards everything below
	items map[cacheKey]*cacheItem
	head  cacheItem // next is the item used last
	bytes int
	limit int
}

// NewCache returns a cache that takes at most about so many bytes of memory.
func NewCache(bytes int64) *Cache {
	c := &Cache{}
	for i := range c.shards {
		s := &c.shards[i]
		s.items, s.limit = map[cacheKey]*cacheItem{}, int(bytes/cacheShards)
		s.head.prev, s.head.next = &s.head, &s.head
	}
	return c
}

// Bytes is about how much memory the cache takes now.
func (c *Cache) Bytes() int64 {
	sum := 0
	for i := range c.shards {
		s := &c.shards[i]
		s.mu.Lock()
		sum += s.bytes
		s.mu.Unlock()
	}
	return int64(sum)
}

// Clear forgets everything, so that its memory can be used for something else.
func (c *Cache) Clear() {
	for i := range c.shards {
		c.shards[i].clear()
	}
}

// enter gives a segment its number.
func (c *Cache) enter() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last++
	return c.last
}

// leave forgets a segment.
func (c *Cache) leave(segment uint64) {
	for i := range c.shards {
		c.shards[i].leave(segment)
	}
}

// shard is where a key belongs. Blocks of one segment are spread over all.
func (c *Cache) shard(k *cacheKey) *cacheShard {
	return &c.shards[fold(k.offset^k.segment<<40^uint64(len(k.filter)), hashWord)%cacheShards]
}

// get returns an item, or nil. The item must not be changed.
func (c *Cache) get(k cacheKey) *cacheItem { return c.shard(&k).get(k) }

// put adds an item, unless it would take a whole shard and more.
func (c *Cache) put(item *cacheItem) {
	item.bytes = cacheOverhead + len(item.chunk) + len(item.key.filter)
	if item.set != nil {
		item.bytes += item.set.bytes()
	}
	c.shard(&item.key).put(item)
}

func (s *cacheShard) get(k cacheKey) *cacheItem {
	s.mu.Lock()
	defer s.mu.Unlock()
	item := s.items[k]
	if item != nil && s.head.next != item {
		item.unlink()
		s.link(item)
	}
	return item
}

func (s *cacheShard) put(item *cacheItem) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if item.bytes > s.limit || s.items[item.key] != nil {
		return
	}
	s.items[item.key] = item
	s.link(item)
	s.bytes += item.bytes
	for s.bytes > s.limit {
		s.drop(s.head.prev)
	}
}

func (s *cacheShard) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.bytes > 0 {
		s.drop(s.head.prev)
	}
}

// leave drops what belongs to a segment.
func (s *cacheShard) leave(segment uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k, item := range s.items {
		if k.segment == segment {
			s.drop(item)
		}
	}
}

// drop removes an item that is in the shard. The caller holds the lock.
func (s *cacheShard) drop(item *cacheItem) {
	item.unlink()
	delete(s.items, item.key)
	s.bytes -= item.bytes
}

// link puts an item in front. The caller holds the lock.
func (s *cacheShard) link(item *cacheItem) {
	item.prev, item.next = &s.head, s.head.next
	item.prev.next, item.next.prev = item, item
}

// unlink takes an item out of the list. The caller holds the lock.
func (i *cacheItem) unlink() { i.prev.next, i.next.prev = i.next, i.prev }
