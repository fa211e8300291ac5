package dvdstore

import (
	"fmt"
	"strings"

	"plimsoll/internal/workload/engine"
	"plimsoll/internal/workload/engine/dataset"
)

// tables are the tables of the shop, with type names that each engine translates.
var tables = []dataset.Table{
	{
		Name: "customers", Key: "customerid",
		Columns: "customerid NUMBERED, firstname varchar(50) NOT NULL, lastname varchar(50) NOT NULL, address1 varchar(50) NOT NULL, address2 varchar(50), " +
			"city varchar(50) NOT NULL, state varchar(50), zip varchar(9), country varchar(50) NOT NULL, region smallint NOT NULL, email varchar(50), phone varchar(50), " +
			"creditcardtype int NOT NULL, creditcard varchar(50) NOT NULL, creditcardexpiration varchar(50) NOT NULL, " +
			"username varchar(50) NOT NULL, password varchar(50) NOT NULL, age smallint, income int, gender varchar(1)",
		Indexes: []dataset.Index{{Name: "customers_username", Columns: "username", Unique: true}, {Name: "customers_username_password", Columns: "username, password", Unique: true}},
	},
	{
		Name: "cust_hist", Columns: "customerid int NOT NULL, orderid int NOT NULL, prod_id int NOT NULL",
		Indexes: []dataset.Index{{Name: "cust_hist_customer", Columns: "customerid"}},
	},
	{
		Name: "orders", Key: "orderid",
		Columns: "orderid NUMBERED, orderdate date NOT NULL, customerid int, netamount numeric(12, 2) NOT NULL, tax numeric(12, 2) NOT NULL, totalamount numeric(12, 2) NOT NULL",
		Indexes: []dataset.Index{{Name: "orders_customer", Columns: "customerid"}},
	},
	{
		Name: "orderlines", Key: "orderid, orderlineid",
		Columns: "orderlineid smallint NOT NULL, orderid int NOT NULL, prod_id int NOT NULL, quantity smallint NOT NULL, orderdate date NOT NULL",
	},
	{
		Name: "products", Key: "prod_id",
		Columns: "prod_id int NOT NULL, category smallint NOT NULL, title PHRASE NOT NULL, actor PHRASE NOT NULL, price numeric(12, 2) NOT NULL, " +
			"special smallint, common_prod_id int NOT NULL, membership_item smallint NOT NULL",
		Indexes: []dataset.Index{
			{Name: "products_category", Columns: "category"}, {Name: "products_special", Columns: "special"},
			{Name: "products_category_special", Columns: "category, special"}, {Name: "products_membership", Columns: "membership_item"},
		},
	},
	{
		Name: "inventory", Key: "prod_id", Room: 15, Columns: "prod_id int NOT NULL, quan_in_stock int NOT NULL, sales int NOT NULL",
		Indexes: []dataset.Index{{Name: "inventory_product", Columns: "prod_id"}},
	},
	{Name: "categories", Key: "category", Columns: "category smallint NOT NULL, categoryname varchar(50) NOT NULL"},
	{
		Name: "reorder", Columns: "prod_id int NOT NULL, date_low date NOT NULL, quan_low int NOT NULL, date_reordered date, quan_reordered int, date_expected date",
		Indexes: []dataset.Index{{Name: "reorder_product", Columns: "prod_id"}},
	},
	{
		Name: "reviews", Key: "review_id",
		Columns: "review_id NUMBERED, prod_id int NOT NULL, review_date date NOT NULL, stars smallint NOT NULL, customerid int NOT NULL, " +
			"review_summary PHRASE NOT NULL, review_text PROSE",
		Indexes: []dataset.Index{{Name: "reviews_product", Columns: "prod_id"}, {Name: "reviews_stars", Columns: "stars"}, {Name: "reviews_product_stars", Columns: "prod_id, stars"}},
	},
	{
		Name: "reviews_helpfulness", Key: "review_helpfulness_id",
		Columns: "review_helpfulness_id NUMBERED, review_id int NOT NULL, customerid int NOT NULL, helpfulness smallint NOT NULL",
		Indexes: []dataset.Index{{Name: "helpfulness_review", Columns: "review_id"}, {Name: "helpfulness_customer", Columns: "customerid"}},
	},
	{Name: "membership", Key: "customerid", Columns: "customerid int NOT NULL, membershiptype int NOT NULL, expiredate date NOT NULL"},
}

// categoryNames are the names of the categories, from 1 on.
var categoryNames = [...]string{
	"Action", "Animation", "Children", "Classics", "Comedy", "Documentary", "Drama", "Family", "Foreign", "Games", "Horror", "Music", "New", "Sci-Fi", "Sports", "Travel",
}

const categories = len(categoryNames)

// references are made one after the other, since each locks two tables: which column of
// which table refers to which other, and what happens to its row on delete.
var references = [][4]string{
	{"cust_hist", "customerid", "customers (customerid)", "CASCADE"},
	{"orders", "customerid", "customers (customerid)", "SET NULL"},
	{"orderlines", "orderid", "orders (orderid)", "CASCADE"},
	{"membership", "customerid", "customers (customerid)", "CASCADE"},
	{"reviews", "prod_id", "products (prod_id)", "CASCADE"},
	{"reviews", "customerid", "customers (customerid)", "CASCADE"},
	{"reviews_helpfulness", "review_id", "reviews (review_id)", "CASCADE"},
}

// A number of type NUMBERED is given by the server to new rows, from where the first data
// ends. MariaDB sorts what has columns of type text on the disk, and so their length is
// limited there.
var (
	postgresTypes = strings.NewReplacer("NUMBERED", "int NOT NULL", "PHRASE", "text", "PROSE", "text")
	mariaTypes    = strings.NewReplacer("NUMBERED", "int NOT NULL AUTO_INCREMENT", "PHRASE", "varchar(50) COLLATE utf8mb4_general_ci", "PROSE", "varchar(1500)")
)

// schema is SQL that makes the empty tables, and their keys when they are full.
func schema(protocol string) (create string, keys []string) {
	types := postgresTypes
	if protocol == engine.MariaDB {
		types = mariaTypes
	}
	all := make([]dataset.Table, len(tables))
	for n, t := range tables {
		t.Columns = types.Replace(t.Columns)
		all[n] = t
	}
	create, keys = dataset.Schema(protocol, all)
	for _, column := range []string{"actor", "title"} {
		sql := "CREATE INDEX products_%[1]s ON products USING gin (to_tsvector('simple', %[1]s))"
		if protocol == engine.MariaDB {
			sql = "CREATE FULLTEXT INDEX IF NOT EXISTS products_%[1]s ON products (%[1]s)"
		}
		keys = append(keys, fmt.Sprintf(sql, column))
	}
	return create, keys
}

// binding is SQL that has the full tables refer to each other, and new rows be numbered.
// MariaDB is not asked to look at all rows, which are right.
func (z size) binding(protocol string) (all []string) {
	for _, r := range references {
		before, after, name := "", "", r[0]+"_"+r[1]+"_fkey"
		if protocol == engine.MariaDB {
			before = fmt.Sprintf("SET foreign_key_checks = 0; ALTER TABLE %s DROP FOREIGN KEY IF EXISTS %s; ", r[0], name)
			after = "; SET foreign_key_checks = 1"
		}
		all = append(all, fmt.Sprintf("%sALTER TABLE %s ADD CONSTRAINT %s FOREIGN KEY (%s) REFERENCES %s ON DELETE %s%s", before, r[0], name, r[1], r[2], r[3], after))
	}
	for _, n := range z.numbered() {
		all = append(all, n.from(protocol))
	}
	return all
}

// numbered is a table whose rows have numbers that the server gives them.
type numbered struct {
	table, column string
	last          int // of the first data, at most
}

func (z size) numbered() []numbered {
	return []numbered{
		{"orders", "orderid", z.orders * months}, {"reviews_helpfulness", "review_helpfulness_id", z.ratings()},
		{"reviews", "review_id", z.allReviews()}, {"customers", "customerid", z.customers},
	}
}

// from is SQL that has the numbers of new rows begin where those of the first data end.
func (n numbered) from(protocol string) string {
	if protocol == engine.MariaDB {
		return fmt.Sprintf("ALTER TABLE %s AUTO_INCREMENT = %d", n.table, n.last+1)
	}
	return fmt.Sprintf("CREATE SEQUENCE %[1]s_%[2]s_seq START %[3]d OWNED BY %[1]s.%[2]s; ALTER TABLE %[1]s ALTER %[2]s SET DEFAULT nextval('%[1]s_%[2]s_seq')", n.table, n.column, n.last+1)
}
