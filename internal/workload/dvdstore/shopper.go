package dvdstore

import (
	"slices"

	"plimsoll/internal/workload/engine"
)

// class is a kind of operation, as response times are reported.
type class uint8

const (
	login class = iota
	newCustomer
	newMember
	browse
	searchReviews
	readReviews
	newReview
	rate
	prices
	purchase
	classes
)

var names = [classes]string{"login", "new_customer", "new_member", "browse", "search_reviews", "read_reviews", "new_review", "rate", "prices", "purchase"}

// call is a function of the database, or the statement for prices.
type call uint8

const (
	callLogin call = iota
	callNewCustomer
	callNewMember
	callBrowseCategory
	callBrowseActor
	callBrowseTitle
	callReviewsByActor
	callReviewsByTitle
	callReviewsOf
	callReviewsByStars
	callReviewsByDate
	callNewReview
	callRate
	callPurchase
	callPrices
	callsInAll
	functionsInAll = callPrices // calls that the server counts
)

// mix is how many operations of each class an order has on average.
func (d *store) mix() [classes]float64 {
	reviews := float64(d.Reviews)
	m := [classes]float64{
		login: 1 - float64(d.NewCustomers), newCustomer: float64(d.NewCustomers), newMember: float64(d.NewMembers),
		browse: float64(d.Searches), searchReviews: reviews, readReviews: reviews, newReview: float64(d.NewReviews), rate: float64(d.Ratings),
		prices: 1, purchase: 1,
	}
	if d.Reviews == 0 {
		m[newMember], m[newReview], m[rate] = 0, 0, 0
	}
	return m
}

// mostLines is how many lines an order may have.
const mostLines = 10

// shopper is a user: the next calls and their arguments, independent of the protocol.
type shopper struct {
	Parameters
	source *source
	z      size

	// Of the order under way.
	begun                    bool
	searches, finds, reads   int // that are left
	member, review, opinion  bool
	customer                 int
	joining                  int // customer who becomes a member
	stars                    int // of all readings of reviews, where that is drawn once
	lines                    int
	products, pieces, prices [mostLines]int // a price is in hundredths, below 0 not known
	priced                   bool

	// Of the call under way.
	call    call
	class   class
	product int
	number  int // a category, stars, a review, a kind of member, a rating
	batch   int
	who     person
	words   []byte // a name, or words to search for
	more    []byte // the text of a review
	values  [5 + 2*mostLines]engine.Value
}

// begin draws an order.
func (s *shopper) begin() {
	s.begun, s.priced, s.customer = true, false, 0
	register := s.source.share()
	member, review, opinion := register, register, register // faithful: one draw for all four
	if !s.faithful() {
		member, review, opinion = s.source.share(), s.source.share(), s.source.share()
	}
	s.searches, s.finds, s.reads = s.source.about(s.Searches), 0, 0
	s.member, s.review, s.opinion = false, false, false
	if s.Reviews > 0 {
		s.finds, s.reads = s.source.about(s.Reviews), s.source.about(s.Reviews)
		if s.faithful() {
			s.stars = s.source.between(1, 5)
		}
		s.member, s.review, s.opinion = member < float64(s.NewMembers), review < float64(s.NewReviews), opinion < float64(s.Ratings)
	}
	s.lines = min(s.source.about(s.Lines), mostLines)
	for n := range s.lines {
		s.products[n], s.pieces[n], s.prices[n] = s.source.product(s.z), s.source.between(1, 3), -1
	}
	if !s.faithful() {
		slices.Sort(s.products[:s.lines]) // so that two orders do not deadlock
	}
	if register < float64(s.NewCustomers) {
		s.class, s.call = newCustomer, callNewCustomer
		s.who.draw(s.source, s.source.share() < .5)
		s.register()
		return
	}
	s.class, s.call = login, callLogin
	s.number = s.source.between(1, s.z.customers)
	s.words = userName(s.words[:0], s.number)
}

// register draws the name of a new user.
func (s *shopper) register() {
	most := 1<<31 - 1
	if s.faithful() { // names run out when as many have registered as there were customers
		most = s.z.customers
	}
	s.words = number(append(s.words[:0], "newuser"...), s.source.between(1, most))
}

// join draws who becomes a member: the user or, as published, any of the first customers.
func (s *shopper) join() {
	s.joining = s.customer
	if s.faithful() {
		s.joining = s.source.between(1, s.z.customers)
	}
	s.number = s.source.between(1, 3)
}

// next draws the next call.
func (s *shopper) next() {
	switch {
	case !s.begun:
		s.begin()
	case s.member:
		s.member = false
		s.class, s.call = newMember, callNewMember
		s.join()
	case s.searches > 0:
		s.searches--
		s.browse()
	case s.finds > 0:
		s.finds--
		s.find()
	case s.reads > 0:
		s.reads--
		s.class, s.call = readReviews, callReviewsOf+call(s.source.between(0, 2))
		s.product, s.number, s.batch = s.source.product(s.z), s.source.between(1, 5), s.source.about(s.Batch)
		if s.faithful() {
			s.number = s.stars
		}
	case s.review:
		s.review = false
		s.class, s.call, s.number, s.product = newReview, callNewReview, s.source.between(1, 5), s.source.product(s.z)
		if s.faithful() {
			s.product = s.source.between(1, s.z.products)
		}
		s.words, s.more = s.source.sentence(s.words[:0], 3), s.source.sentence(s.more[:0], 25)
	case s.opinion:
		s.opinion = false
		s.class, s.call, s.number, s.batch = rate, callRate, s.source.between(1, s.z.allReviews()), s.source.between(1, 10)
	case !s.priced:
		s.priced = true
		s.class, s.call = prices, callPrices
	default:
		s.class, s.call = purchase, callPurchase
	}
}

// browse draws a search for products.
func (s *shopper) browse() {
	s.class, s.batch = browse, s.source.about(s.Batch)
	s.call = callBrowseCategory + call(s.source.between(0, 2))
	switch s.call {
	case callBrowseCategory:
		s.number = s.source.between(1, categories)
	case callBrowseActor:
		s.words = s.source.actor(s.words[:0])
	default:
		s.words = s.source.word(s.words[:0])
	}
}

// find draws a search for reviews.
func (s *shopper) find() {
	s.class, s.batch = searchReviews, s.source.about(s.Batch)
	s.call = callReviewsByActor + call(s.source.between(0, 1))
	if s.call == callReviewsByActor {
		s.words = s.source.actor(s.words[:0])
	} else {
		s.words = s.source.word(s.words[:0])
	}
}

// net is what the order costs, in hundredths.
func (s *shopper) net() int {
	sum := 0
	for n := range s.lines {
		sum += s.pieces[n] * max(0, s.prices[n])
	}
	return sum
}

// bought is how many pieces the order has.
func (s *shopper) bought() int {
	sum := 0
	for _, n := range s.pieces[:s.lines] {
		sum += n
	}
	return sum
}
