package web

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"foyer/sale"
	"foyer/seats"
)

// problem is an answer that is not what was asked for (RFC 9457).
type problem struct {
	Status     int
	Code       string // also names the type: /problems/<code>
	Title      string
	Detail     string // a sentence a person can act on
	Seats      []string
	Field      string          // the setting of an event that it speaks of, see [sale.Refusal]; only the pages tell
	UsedAt     time.Time       // ticket_used only
	RetryAfter time.Duration   // zero: no advice
	Order      *sale.OrderView // the order it speaks of
	Problems   []seats.Problem // bad_plan only
	Challenge  any             // challenge_required only
}

type kind struct {
	status int
	title  string
}

// kinds is the one table from codes to HTTP.
var kinds = map[string]kind{
	// who speaks
	"no_visitor":          {http.StatusUnauthorized, "No visitor"},
	"no_entry_token":      {http.StatusUnauthorized, "No entry token"},
	"entry_token_expired": {http.StatusUnauthorized, "Turn over"},
	"no_key":              {http.StatusUnauthorized, "No valid key"},
	"wrong_role":          {http.StatusForbidden, "Wrong role"},
	"not_admitted":        {http.StatusForbidden, "Not admitted"},
	"wrong_event":         {http.StatusForbidden, "Wrong event"},
	"cross_site":          {http.StatusForbidden, "Cross-site request"},
	"not_your_turn":       {http.StatusTooManyRequests, "Not your turn"},
	"challenge_required":  {http.StatusForbidden, "Challenge required"},
	"code_required":       {http.StatusForbidden, "Code required"},
	"bad_code":            {http.StatusForbidden, "Wrong code"},
	"too_many_requests":   {http.StatusTooManyRequests, "Too many requests"},

	// what is not there
	"no_such_route":    {http.StatusNotFound, "No such route"},
	"no_such_event":    {http.StatusNotFound, "No such event"},
	"no_plan":          {http.StatusNotFound, "No plan"},
	"not_entered":      {http.StatusNotFound, "Not entered"},
	"no_such_seat":     {http.StatusNotFound, "No such seat"},
	"no_such_order":    {http.StatusNotFound, "No such order"},
	"no_such_provider": {http.StatusNotFound, "No such provider"},
	"no_such_batch":    {http.StatusNotFound, "No such batch"},
	"no_such_key":      {http.StatusNotFound, "No such key"},
	"no_such_task":     {http.StatusNotFound, "No such task"},
	"no_such_message":  {http.StatusNotFound, "No such message"},
	"no_such_matter":   {http.StatusNotFound, "No such matter"},
	"no_such_ticket":   {http.StatusNotFound, "No such ticket"},
	"no_such_code":     {http.StatusNotFound, "No such code"},

	// how it was asked
	"bad_request":             {http.StatusBadRequest, "Bad request"},
	"bad_json":                {http.StatusBadRequest, "Bad JSON"},
	"unknown_field":           {http.StatusBadRequest, "Unknown field"},
	"bad_return":              {http.StatusBadRequest, "Bad address to return to"},
	"bad_cursor":              {http.StatusBadRequest, "Bad cursor"},
	"idempotency_key_missing": {http.StatusBadRequest, "Idempotency-Key missing"},
	"bad_idempotency_key":     {http.StatusBadRequest, "Bad Idempotency-Key"},
	"bad_signature":           {http.StatusBadRequest, "Bad signature"},
	"stale_event":             {http.StatusBadRequest, "Stale event"},
	"bad_event_body":          {http.StatusBadRequest, "Bad payment event"},
	"method_not_allowed":      {http.StatusMethodNotAllowed, "Method not allowed"},
	"body_too_large":          {http.StatusRequestEntityTooLarge, "Body too large"},
	"unsupported_encoding":    {http.StatusUnsupportedMediaType, "Compressed body"},
	"unsupported_media_type":  {http.StatusUnsupportedMediaType, "Unsupported media type"},
	"bad_field":               {http.StatusUnprocessableEntity, "Bad field"},
	"bad_text":                {http.StatusUnprocessableEntity, "Bad text"},
	"bad_seats":               {http.StatusUnprocessableEntity, "Bad seats"},
	"no_seats":                {http.StatusUnprocessableEntity, "No seats"},
	"too_many_seats":          {http.StatusUnprocessableEntity, "Too many seats"},
	"duplicate_seats":         {http.StatusUnprocessableEntity, "Duplicate seats"},
	"buyer_required":          {http.StatusUnprocessableEntity, "Buyer required"},
	"bad_customer":            {http.StatusUnprocessableEntity, "Bad customer"},
	"bad_buyer":               {http.StatusUnprocessableEntity, "Bad buyer"},
	"idempotency_key_reused":  {http.StatusUnprocessableEntity, "Idempotency-Key reused"},
	"amount_mismatch":         {http.StatusUnprocessableEntity, "Wrong amount"},
	"currency_mismatch":       {http.StatusUnprocessableEntity, "Wrong currency"},
	"bad_reason":              {http.StatusUnprocessableEntity, "Bad reason"},
	"bad_sale":                {http.StatusUnprocessableEntity, "Bad sale"},
	"bad_event":               {http.StatusUnprocessableEntity, "Bad event"},
	"bad_plan":                {http.StatusUnprocessableEntity, "Bad plan"},
	"bad_lane":                {http.StatusUnprocessableEntity, "Bad lane"},
	"bad_task":                {http.StatusUnprocessableEntity, "Bad task"},
	"task_id_reused":          {http.StatusUnprocessableEntity, "Task id reused"},
	"bad_batch":               {http.StatusUnprocessableEntity, "Bad batch"},
	"bad_key":                 {http.StatusUnprocessableEntity, "Bad key"},

	// what stands against it
	"event_closed":     {http.StatusForbidden, "Event closed"},
	"sold_out":         {http.StatusGone, "Sold out"},
	"hold_expired":     {http.StatusGone, "Hold expired"},
	"link_used":        {http.StatusGone, "Return code used"},
	"seats_taken":      {http.StatusConflict, "Seats taken"},
	"not_enough_seats": {http.StatusConflict, "Not enough seats"},
	"turn_in_use":      {http.StatusConflict, "Turn in use"},
	"turn_not_claimed": {http.StatusConflict, "Turn not claimed"},
	"order_paid":       {http.StatusConflict, "Order paid"},
	"order_not_paid":   {http.StatusConflict, "Order not paid"},
	"refund_running":   {http.StatusConflict, "Refund running"},
	"not_that_way":     {http.StatusConflict, "Not that way"},
	"ticket_void":      {http.StatusConflict, "Ticket void"},
	"ticket_used":      {http.StatusConflict, "Ticket used"},
	"event_open":       {http.StatusConflict, "Event open"},
	"payment_running":  {http.StatusConflict, "Payment running"},
	"refund_due":       {http.StatusConflict, "Refund due"},
	"event_exists":     {http.StatusConflict, "Event exists"},
	"promise_made":     {http.StatusConflict, "Promise already made"},
	"seats_in_use":     {http.StatusConflict, "Seats in use"},
	"not_drawn":        {http.StatusConflict, "Not drawn"},
	"code_used":        {http.StatusConflict, "Code used"},
	"event_in_use":     {http.StatusConflict, "Event in use"},
	"messages_left":    {http.StatusConflict, "Messages left"},
	"task_running":     {http.StatusConflict, "Task running"},
	"task_done":        {http.StatusConflict, "Task done"},
	"last_admin":       {http.StatusConflict, "Last admin key"},
	"backup_running":   {http.StatusConflict, "Backup running"},

	// what does not work
	"internal":              {http.StatusInternalServerError, "Internal error"},
	"provider_unavailable":  {http.StatusBadGateway, "Provider unavailable"},
	"challenge_unavailable": {http.StatusServiceUnavailable, "Challenge unavailable"},
	"line_full":             {http.StatusServiceUnavailable, "Line full"},
	"streams_full":          {http.StatusServiceUnavailable, "Too many streams"},
	"unavailable":           {http.StatusServiceUnavailable, "Unavailable"},
	"no_space":              {http.StatusInsufficientStorage, "Too little disk space"},
	"shop_unavailable":      {http.StatusBadGateway, "The shop does not answer"},
}

// The refusals that only HTTP knows.
var (
	errNoSuchRoute = &sale.Refusal{Code: "no_such_route", Detail: "There is nothing at this address. The API is described at /openapi.yaml."}
	errBadRequest  = &sale.Refusal{Code: "bad_request", Detail: "The request cannot be understood."}
	errMethod      = &sale.Refusal{Code: "method_not_allowed", Detail: "This address does not take this method. The Allow header names those it takes."}
	errNoKey       = &sale.Refusal{Code: "no_key", Detail: "Send a valid key as Authorization: Bearer KEY."}
	errWrongRole   = &sale.Refusal{Code: "wrong_role", Detail: "The role of this key does not allow that."}
	errCrossSite   = &sale.Refusal{Code: "cross_site", Detail: "The browser sent this request from another site. Use Foyer's own pages, or a key or X-Visitor in a header."}
	errTooLarge    = &sale.Refusal{Code: "body_too_large", Detail: "The body is larger than this address takes."}
	errEncoding    = &sale.Refusal{Code: "unsupported_encoding", Detail: "Send the body uncompressed."}
	errMediaType   = &sale.Refusal{Code: "unsupported_media_type", Detail: "Send the body as application/json in UTF-8."}
	errFormType    = &sale.Refusal{Code: "unsupported_media_type", Detail: "Send the form as application/x-www-form-urlencoded."}
	errBadCursor   = &sale.Refusal{Code: "bad_cursor", Detail: "The cursor is not one that this list gave."}
	errBadIdemKey  = &sale.Refusal{Code: "bad_idempotency_key", Detail: "The Idempotency-Key must be 1 to 255 printable ASCII characters, bare or as a quoted string."}
	errStreamsFull = &sale.Refusal{Code: "streams_full", Detail: "Too many streams are open. Poll the place instead.", RetryAfter: 30 * time.Second}
	errOwnStreams  = &sale.Refusal{Code: "too_many_requests", Detail: "You have " + strconv.Itoa(maxOwnStreams) + " streams open already. Close one, or poll the place instead.", RetryAfter: 30 * time.Second}
	errBadPlan     = &sale.Refusal{Code: "bad_plan", Detail: "The plan cannot be used. Mend what is listed in problems and send it again."}
)

func refuse(code, detail string) error { return &sale.Refusal{Code: code, Detail: detail} }

// problem finds the row of the table for an error. An unknown error is
// "internal" and tells nothing.
func (s *Server) problem(err error) problem {
	var r *sale.Refusal
	var he *echo.HTTPError
	var large *http.MaxBytesError
	var plan *seats.BadPlan
	switch {
	case errors.As(err, &plan):
		r = errBadPlan
	case errors.As(err, &r):
	case errors.As(err, &large):
		r = errTooLarge
	case errors.As(err, &he):
		switch he.Code {
		case http.StatusNotFound:
			r = errNoSuchRoute
		case http.StatusMethodNotAllowed:
			r = errMethod
		case http.StatusRequestEntityTooLarge:
			r = errTooLarge
		case http.StatusUnsupportedMediaType:
			r = errMediaType
		default:
			if he.Code < 500 {
				r = errBadRequest
			}
		}
	}
	k, known := kind{}, false
	if r != nil {
		k, known = kinds[r.Code]
	}
	if !known {
		k = kinds["internal"]
		return problem{Status: k.status, Code: "internal", Title: k.title, Detail: "Something went wrong on our side. Try again in a moment."}
	}
	p := problem{Status: k.status, Code: r.Code, Title: k.title, Detail: r.Detail, Seats: r.Seats, Field: r.Field, UsedAt: r.UsedAt, RetryAfter: r.RetryAfter, Order: r.Order}
	if u := new(unproved); errors.As(err, &u) {
		p.Challenge = u.challenge
	}
	if plan != nil {
		p.Problems = plan.Problems
	}
	return p
}

// MarshalJSON writes the problem as RFC 9457 has it.
func (p problem) MarshalJSON() ([]byte, error) {
	var order *orderDoc
	if p.Order != nil {
		order = staffOrderOf(p.Order) // of a confirmation; only the shop makes one
	}
	return json.Marshal(struct {
		Type       string          `json:"type"`
		Title      string          `json:"title"`
		Status     int             `json:"status"`
		Detail     string          `json:"detail,omitempty"`
		Code       string          `json:"code"`
		Seats      []string        `json:"seats,omitempty"`
		UsedAt     *stamp          `json:"usedAt,omitempty"`
		RetryAfter int             `json:"retryAfterSeconds,omitempty"`
		Order      *orderDoc       `json:"order,omitempty"`
		Problems   []seats.Problem `json:"problems,omitempty"`
		Challenge  any             `json:"challenge,omitempty"`
	}{"/problems/" + p.Code, p.Title, p.Status, p.Detail, p.Code, p.Seats, stampOf(p.UsedAt), wholeSeconds(p.RetryAfter), order, p.Problems, p.Challenge})
}

// wholeSeconds rounds up, since a client that comes a moment early is refused again.
func wholeSeconds(d time.Duration) int { return int((d + time.Second - 1) / time.Second) }

// fail answers an error, if an answer can still be given.
func (s *Server) fail(c echo.Context, err error) {
	p := s.problem(err)
	if p.Code == "internal" && !errors.Is(err, context.Canceled) && err != errPanic {
		s.log.Error("internal", "id", requestID(c), "route", c.Path(), "error", err.Error())
	}
	if r := new(sale.Refusal); errors.As(err, &r) && r.Cause != nil && !errors.Is(r.Cause, context.Canceled) {
		s.log.Warn(r.Code, "id", requestID(c), "route", c.Path(), "error", r.Cause.Error())
	}
	if c.Response().Committed {
		return
	}
	h := c.Response().Header()
	h[headerCacheControl] = noStore
	h.Del("Etag")
	h.Del(echo.HeaderContentLength)
	if p.RetryAfter > 0 {
		h.Set(echo.HeaderRetryAfter, strconv.Itoa(wholeSeconds(p.RetryAfter)))
	}
	if p.Status == http.StatusUnauthorized && p.Code == "no_key" {
		h.Set(echo.HeaderWWWAuthenticate, `Bearer realm="foyer"`)
	}
	if wantsPage(c.Request()) {
		if err := s.errorPage(c, p); err == nil || c.Response().Committed {
			return
		}
	}
	body, err := p.MarshalJSON()
	if err != nil { // our own types always encode
		body = []byte(`{"type":"/problems/internal","title":"Internal error","status":500,"code":"internal"}`)
	}
	_ = c.Blob(p.Status, "application/problem+json", body) // an error here: the client is gone
}

// wantsPage tells whether a person with a browser asked for something outside
// the API.
func wantsPage(r *http.Request) bool {
	return !isAPI(r.URL.Path) && strings.Contains(r.Header.Get(echo.HeaderAccept), "text/html")
}

func isAPI(path string) bool { return strings.HasPrefix(path, "/api/") }
