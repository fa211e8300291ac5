package dvdstore

// person is the personal data of a customer.
type person struct {
	texts [17]span // of the parameters of new_customer that are texts
	words []byte
}

type span struct{ from, to int }

// Countries of the customers who do not live in the first.
var countries = [11]string{"US", "Australia", "Canada", "Chile", "China", "France", "Germany", "Japan", "Russia", "South Africa", "UK"}

// The columns of customers that a person has, in their order, between the number and
// the name of the user; the same for the data and for those who register.
const (
	firstName = iota
	lastName
	address1
	address2
	city
	province
	zip
	country
	region
	email
	phone
	cardType
	card
	expiration
	age
	income
	gender
)

// draw draws someone from home or from abroad.
func (p *person) draw(s *source, abroad bool) {
	p.words = p.words[:0]
	add := func(what int, fill func(b []byte) []byte) {
		from := len(p.words)
		p.words = fill(p.words)
		p.texts[what] = span{from, len(p.words)}
	}
	nothing := func(b []byte) []byte { return b }
	add(firstName, func(b []byte) []byte { return s.capitals(b, 6) })
	add(lastName, func(b []byte) []byte { return s.capitals(b, 10) })
	add(address1, func(b []byte) []byte { return append(s.digits(b, 10), " Main Street"...) })
	add(address2, nothing)
	add(city, func(b []byte) []byte { return s.capitals(b, 7) })
	if abroad {
		add(province, nothing)
		add(zip, func(b []byte) []byte { return append(b, '0') })
		add(country, func(b []byte) []byte { return append(b, countries[s.between(1, len(countries)-1)]...) })
		add(region, func(b []byte) []byte { return append(b, '2') })
	} else {
		add(province, func(b []byte) []byte { return s.capitals(b, 2) })
		add(zip, func(b []byte) []byte { return s.digits(b, 5) })
		add(country, func(b []byte) []byte { return append(b, countries[0]...) })
		add(region, func(b []byte) []byte { return append(b, '1') })
	}
	add(email, func(b []byte) []byte {
		return append(append(b, p.words[p.texts[lastName].from:p.texts[lastName].to]...), "@example.com"...)
	})
	add(phone, func(b []byte) []byte { return s.digits(b, 10) })
	add(cardType, func(b []byte) []byte { return number(b, s.between(1, 5)) })
	add(card, func(b []byte) []byte { return s.digits(b, 16) })
	add(expiration, func(b []byte) []byte {
		b = append(number(b, s.between(2014, 2018)), '/')
		return append(b, byte('0'+s.between(0, 1)), byte('1'+s.between(0, 1)))
	})
	add(age, func(b []byte) []byte { return number(b, s.between(18, 90)) })
	add(income, func(b []byte) []byte { return number(b, 20_000*s.between(1, 5)) })
	add(gender, func(b []byte) []byte { return append(b, "MF"[s.between(0, 1)]) })
}

// text is one of the columns.
func (p *person) text(what int) []byte { return p.words[p.texts[what].from:p.texts[what].to] }
