package sale

import "time"

// Refusal is an answer that is not what was asked for, with a sentence a person
// can act on. Two refusals are the same to errors.Is when their codes are.
type Refusal struct {
	Code       string // as in the API, e.g. "seats_taken"
	Detail     string
	Seats      []string      // the seats it speaks of
	Field      string        // the one setting of an event that it speaks of, as "rules.memberShare"; "" for none or several
	UsedAt     time.Time     // of a ticket that was shown before
	RetryAfter time.Duration // zero: no advice
	Order      *OrderView    // the order it speaks of
	Cause      error         // for the log: what somebody else got wrong; nil for what the caller did
}

func (r *Refusal) Error() string { return r.Code + ": " + r.Detail }

// Is compares codes.
func (r *Refusal) Is(target error) bool {
	t, ok := target.(*Refusal)
	return ok && t.Code == r.Code
}

// Unwrap gives the cause.
func (r *Refusal) Unwrap() error { return r.Cause }

// Because is the refusal with its cause.
func (r *Refusal) Because(cause error) *Refusal {
	c := *r
	c.Cause = cause
	return &c
}

func (r *Refusal) with(seats []string) *Refusal {
	c := *r
	c.Seats = seats
	return &c
}

func (r *Refusal) say(detail string) *Refusal {
	c := *r
	c.Detail = detail
	return &c
}

// About is the refusal with the setting of an event that it speaks of.
func (r *Refusal) About(field string) *Refusal {
	c := *r
	c.Field = field
	return &c
}

// The refusals. Codes are the API's.
var (
	ErrNoSuchEvent   = &Refusal{Code: "no_such_event", Detail: "There is no event with this id."}
	ErrNoSuchOrder   = &Refusal{Code: "no_such_order", Detail: "There is no order of yours with this id."}
	ErrNoPlan        = &Refusal{Code: "no_plan", Detail: "This event has no seating plan yet."}
	ErrNotEntered    = &Refusal{Code: "not_entered", Detail: "You have no place with this id in the line. Join the line to get one."}
	ErrNoSuchCode    = &Refusal{Code: "no_such_code", Detail: "This code opens no place. Check it letter by letter, or make a new one in the browser that has the place."}
	ErrLinkUsed      = &Refusal{Code: "link_used", Detail: "This code was used already or taken back. Make a new one in a browser that has the place."}
	ErrNoVisitor     = &Refusal{Code: "no_visitor", Detail: "Say who you are: call POST /api/v1/visitors first and send the cookie or the X-Visitor header."}
	ErrEventClosed   = &Refusal{Code: "event_closed", Detail: "The sale of this event is closed."}
	ErrSoldOut       = &Refusal{Code: "sold_out", Detail: "This event is sold out."}
	ErrNotDrawn      = &Refusal{Code: "not_drawn", Detail: "The numbers of this event are not drawn yet, or its order is no draw."}
	ErrLineFull      = &Refusal{Code: "line_full", Detail: "The line is full at present. Try again in a minute.", RetryAfter: time.Minute}
	ErrCodeRequired  = &Refusal{Code: "code_required", Detail: "This event is by invitation. Enter the code that you were given."}
	ErrBadCode       = &Refusal{Code: "bad_code", Detail: "This is no code for this event. Look whether you typed it as it was given to you."}
	ErrCodeUsed      = &Refusal{Code: "code_used", Detail: "This code was used as often as it may be."}
	ErrBadBatch      = &Refusal{Code: "bad_batch", Detail: "Codes cannot be made like that."}
	ErrNoSuchBatch   = &Refusal{Code: "no_such_batch", Detail: "This event has no such batch of codes."}
	ErrNoEntryToken  = &Refusal{Code: "no_entry_token", Detail: "Send the entry token of your turn in the X-Entry-Token header. You get it when you reach the front of the line."}
	ErrTokenExpired  = &Refusal{Code: "entry_token_expired", Detail: "Your turn is over. Join the line again."}
	ErrNotAdmitted   = &Refusal{Code: "not_admitted", Detail: "This entry token gives no turn. Join the line to get one."}
	ErrWrongEvent    = &Refusal{Code: "wrong_event", Detail: "This entry token belongs to another event."}
	ErrNoSuchSeat    = &Refusal{Code: "no_such_seat", Detail: "The house has no such seats, or they have no price."}
	ErrSeatsTaken    = &Refusal{Code: "seats_taken", Detail: "Somebody else has these seats. Choose others."}
	ErrNotEnough     = &Refusal{Code: "not_enough_seats", Detail: "There are not that many free seats of this kind."}
	ErrTurnInUse     = &Refusal{Code: "turn_in_use", Detail: "A payment is running for your order. Finish or cancel it first."}
	ErrNotClaimed    = &Refusal{Code: "turn_not_claimed", Detail: "No claim of a shop is on this turn, or its time is over. Claim it first."}
	ErrBadCustomer   = &Refusal{Code: "bad_customer", Detail: "The customerId cannot be used."}
	ErrTooManyHolds  = &Refusal{Code: "too_many_requests", Detail: "You have changed your seats too often in this turn. Pay for the ones you hold, or join the line again."}
	ErrTooMany       = &Refusal{Code: "too_many_seats", Detail: "That is more seats than one order may have."}
	ErrNoSeats       = &Refusal{Code: "no_seats", Detail: "Name at least one seat."}
	ErrDuplicate     = &Refusal{Code: "duplicate_seats", Detail: "Name each seat once."}
	ErrOrderPaid     = &Refusal{Code: "order_paid", Detail: "This order is paid."}
	ErrPaying        = &Refusal{Code: "payment_running", Detail: "A payment is running for this order. Wait for it to end."}
	ErrHoldExpired   = &Refusal{Code: "hold_expired", Detail: "The time for these seats is over and they are free again. Choose seats again."}
	ErrNoProvider    = &Refusal{Code: "no_such_provider", Detail: "This event does not take payments that way."}
	ErrProviderDown  = &Refusal{Code: "provider_unavailable", Detail: "The payment provider does not answer. Your seats are still held; try again in a moment.", RetryAfter: 3 * time.Second}
	ErrBuyerRequired = &Refusal{Code: "buyer_required", Detail: "This event asks for the buyer's name and e-mail address."}
	ErrBadBuyer      = &Refusal{Code: "bad_buyer", Detail: "The buyer's name or e-mail address cannot be used."}
	ErrKeyMissing    = &Refusal{Code: "idempotency_key_missing", Detail: "Send an Idempotency-Key header of 1 to 255 characters."}
	ErrKeyReused     = &Refusal{Code: "idempotency_key_reused", Detail: "This Idempotency-Key was used with another body. Use a new key for a new request."}
	ErrAmount        = &Refusal{Code: "amount_mismatch", Detail: "The amount is not what the order costs."}
	ErrCurrency      = &Refusal{Code: "currency_mismatch", Detail: "The currency is not the order's."}
	ErrRefundDue     = &Refusal{Code: "refund_due", Detail: "The money came when the time for these seats was over, and somebody else has them. The money must be returned."}
	ErrNotPaid       = &Refusal{Code: "order_not_paid", Detail: "This order was never paid; there is nothing to return."}
	ErrBadReason     = &Refusal{Code: "bad_reason", Detail: "Say why, in at most 300 characters."}
	ErrBadSale       = &Refusal{Code: "bad_sale", Detail: "The sale cannot be made like that."}
	ErrNoSuchMatter  = &Refusal{Code: "no_such_matter", Detail: "Nothing with this id is on the attention list; somebody has seen to it, or it has settled itself."}
	ErrNotThatWay    = &Refusal{Code: "not_that_way", Detail: "This cannot be settled that way."}
	ErrRefundRuns    = &Refusal{Code: "refund_running", Detail: "The money is on its way back. Wait for the provider's answer."}
	ErrNoSuchTicket  = &Refusal{Code: "no_such_ticket", Detail: "This code is no ticket of this event."}
	ErrTicketVoid    = &Refusal{Code: "ticket_void", Detail: "This ticket was refunded and is not valid any more."}
	ErrTicketUsed    = &Refusal{Code: "ticket_used", Detail: "This ticket was shown before."}
	ErrStillSelling  = &Refusal{Code: "event_open", Detail: "The sale is not over. Close the event first."}
	ErrMessagesLeft  = &Refusal{Code: "messages_left", Detail: "Messages that tell of buyers of this event are not delivered."}
	ErrEventExists   = &Refusal{Code: "event_exists", Detail: "There is an event with this id already.", Field: "id"}
	ErrBadEvent      = &Refusal{Code: "bad_event", Detail: "The event cannot be like that."}
	ErrPromise       = &Refusal{Code: "promise_made", Detail: "That would break a promise already made."}
	ErrSeatsInUse    = &Refusal{Code: "seats_in_use", Detail: "The new plan drops seats that are held, sold or kept by the house."}
	ErrEventInUse    = &Refusal{Code: "event_in_use", Detail: "People have places or had orders in this event. Close it instead."}
	ErrNoSuchMessage = &Refusal{Code: "no_such_message", Detail: "No message with this id waits or is dead; it was delivered, dropped or never was."}
	ErrBadLane       = &Refusal{Code: "bad_lane", Detail: "The lane cannot be like that."}
	ErrBadTask       = &Refusal{Code: "bad_task", Detail: "The task cannot be like that."}
	ErrNoSuchTask    = &Refusal{Code: "no_such_task", Detail: "There is no task with this id, or it ended more than seven days ago."}
	ErrTaskReused    = &Refusal{Code: "task_id_reused", Detail: "This id was used in the same lane for another request. Use a new id for a new task."}
	ErrTaskRunning   = &Refusal{Code: "task_running", Detail: "The request is being made at this moment, or may be since before Foyer was started, and cannot be called back. Look again when it has ended.", RetryAfter: time.Second}
	ErrTaskDone      = &Refusal{Code: "task_done", Detail: "The request was made; there is nothing left to cancel."}
	ErrBadKey        = &Refusal{Code: "bad_key", Detail: "A key needs a role (admin, boxoffice, door or shop) and a name of at most 100 characters."}
	ErrNoSuchKey     = &Refusal{Code: "no_such_key", Detail: "There is no key with this id."}
	ErrLastAdmin     = &Refusal{Code: "last_admin", Detail: "This is the last admin key. Make another one first."}
	ErrBadSignature  = &Refusal{Code: "bad_signature", Detail: "The signature does not fit the body. Check the webhook secret."}
	ErrStaleEvent    = &Refusal{Code: "stale_event", Detail: "The event's timestamp is more than 300 seconds away from now."}
	ErrBadFact       = &Refusal{Code: "bad_event_body", Detail: "The signed body is no payment event."}
	ErrUnavailable   = &Refusal{Code: "unavailable", Detail: "Foyer cannot write at present. Nothing was changed; try again in a moment.", RetryAfter: 5 * time.Second}
)
