// Package paging reads the page folders: where messages go that do not fit in memory.
//
//	<paging>/<any unique name>/address.txt      the address, one line
//	<paging>/<any unique name>/000000001.page   9 digits, ids from 1 up; gaps are legal
//
// A page file is a row of records without a header:
//
//	i8 '{' · i32 n · n bytes · i8 '}'
//
// and the n bytes are
//
//	i64 page transaction (-1: none) · i8 kind · message · i32 q · q × i64 queue
//
// Kind 1 (or -1, old): a large Core message, i32 size and the payload of a record 30. Kind 0, and 2 for a large message of another
// protocol: the payload of a record 45, which has no size of its own.
//
// A message's position is (page id, index in the file from 0). It is visible for a queue that is in its list when no record
// 42 says that the queue has finished the page, no 39 that it has acknowledged the position, and the page
// transaction is -1 or known by a record 35. A transaction that is not known was rolled back.
//
// A reader stops at the first record whose frame is wrong; what follows is lost, and the file must not be appended to.
//
// Source: spec journal §6; Artemis PageReadWriter, PagedMessageImpl, PagingStoreFactoryNIO.
package paging
