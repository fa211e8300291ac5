package dvdstore

import (
	"strings"

	"plimsoll/internal/workload/engine"
)

// dialect is an engine's version of the functions: texts with placeholders.
type dialect struct {
	all             string
	searched, read  string   // that are there for several columns, and orders
	sound, faithful []string // placeholders, with their text in the mode
}

// history is what a customer bought last, with a product that goes with each.
const history = `SELECT b.customerid, b.title, b.actor, p.title FROM
    (SELECT h.customerid, h.orderid, q.title, q.actor, q.common_prod_id FROM cust_hist h JOIN products q USING (prod_id) WHERE h.customerid = who
      ORDER BY h.orderid DESC, q.title LIMIT 10) AS b JOIN products p ON p.prod_id = b.common_prod_id`

// making is SQL that makes the functions of a mode, and the trigger. For MariaDB it may be
// run again where it was interrupted.
func making(protocol, mode string) string {
	d := postgresFunctions
	if protocol == engine.MariaDB {
		d = mariaFunctions
	}
	in := func(text string, pairs ...string) string { return strings.NewReplacer(pairs...).Replace(text) }
	text := d.all + in(d.searched, "COLUMN", "actor") + in(d.searched, "COLUMN", "title") +
		in(d.read, "NAME", "reviews_of", "CONDITION", "", "FIRST", "total") +
		in(d.read, "NAME", "reviews_by_stars", "CONDITION", " AND r.stars = given", "FIRST", "total") +
		in(d.read, "NAME", "reviews_by_date", "CONDITION", "", "FIRST", "r.review_date")
	if mode == faithful {
		return in(text, d.faithful...)
	}
	return in(text, d.sound...)
}
