package dvdstore

import (
	"fmt"
	"strings"
)

// warm is SQL by which a session of PostgreSQL makes every call once and takes all of it back, so
// that the database has read and planned its functions before their time is taken: a
// session keeps that for itself, and a load at a low rate would measure little else.
// Sessions differ in the rows that they touch.
func (z size) warm() string {
	customer := fmt.Sprintf("1 + pg_backend_pid() %% %d", z.customers)
	product := fmt.Sprintf("1 + pg_backend_pid() %% %d", z.products)
	calls := []string{
		"login('user1', '" + password + "')",
		"new_customer('', '', '', '', '', '', '', '', '1', '', '', '1', '', '', '1', '1', '', 'plimsoll ' || pg_backend_pid(), '')",
		"new_member(" + customer + ", 1)",
		"browse_by_category(1, 1)", "browse_by_actor(1, 'A B')", "browse_by_title(1, 'A')",
		"reviews_by_actor(1, 1, 'A B')", "reviews_by_title(1, 1, 'A')",
		"reviews_of(1, " + product + ", 1)", "reviews_by_stars(1, " + product + ", 1)", "reviews_by_date(1, " + product + ", 1)",
		"new_review(" + product + ", 1, " + customer + ", '', '')",
		fmt.Sprintf("rate_review(1 + pg_backend_pid() %% %d, %s, 1)", z.allReviews(), customer),
		"purchase(" + customer + ", 1, 0, 0, 0" + strings.Repeat(", "+product, mostLines) + strings.Repeat(", 1", mostLines) + ")",
	}
	return "BEGIN; SELECT " + strings.Join(calls, "; SELECT ") + "; ROLLBACK; "
}
