package store

// An edge is a point on the way of a commit or of a message at which a process
// may die. The crash rig builds the program with the tag failpoint and lets it
// die there (edge_failpoint.go); without the tag nothing of it is compiled in
// (edge_none.go).
const (
	edgeTaken     = "taken"     // a batch is taken from the queue, nothing has run
	edgeDecided   = "decided"   // every function has run, nothing is written
	edgeWritten   = "written"   // the rows are in bbolt's transaction, which is not committed
	edgeCommitted = "committed" // on disk, not in memory
	edgeApplied   = "applied"   // in memory, nobody was told
	edgeOffered   = "offered"   // the relay has the messages, the callers have no answer
	edgeAnswered  = "answered"  // the callers have their answers
	edgeDeliver   = "deliver"   // a message is loaded and about to go out
	edgeDelivered = "delivered" // outcomes of deliveries are about to be settled
	edgeSettled   = "settled"   // they are settled, the relay does not know
)
