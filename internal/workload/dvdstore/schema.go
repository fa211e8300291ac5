package dvdstore

// tables are those of the shop, without keys, so that they can be filled fast.
const tables = `
CREATE TABLE customers (customerid int NOT NULL, firstname varchar(50) NOT NULL, lastname varchar(50) NOT NULL, address1 varchar(50) NOT NULL,
  address2 varchar(50), city varchar(50) NOT NULL, state varchar(50), zip varchar(9), country varchar(50) NOT NULL, region smallint NOT NULL,
  email varchar(50), phone varchar(50), creditcardtype int NOT NULL, creditcard varchar(50) NOT NULL, creditcardexpiration varchar(50) NOT NULL,
  username varchar(50) NOT NULL, password varchar(50) NOT NULL, age smallint, income int, gender varchar(1));
CREATE TABLE cust_hist (customerid int NOT NULL, orderid int NOT NULL, prod_id int NOT NULL);
CREATE TABLE orders (orderid int NOT NULL, orderdate date NOT NULL, customerid int, netamount numeric NOT NULL, tax numeric NOT NULL, totalamount numeric NOT NULL);
CREATE TABLE orderlines (orderlineid smallint NOT NULL, orderid int NOT NULL, prod_id int NOT NULL, quantity smallint NOT NULL, orderdate date NOT NULL);
CREATE TABLE products (prod_id int NOT NULL, category smallint NOT NULL, title text NOT NULL, actor text NOT NULL, price numeric NOT NULL,
  special smallint, common_prod_id int NOT NULL, membership_item smallint NOT NULL);
CREATE TABLE inventory (prod_id int NOT NULL, quan_in_stock int NOT NULL, sales int NOT NULL) WITH (fillfactor = 85);
CREATE TABLE categories (category smallint PRIMARY KEY, categoryname varchar(50) NOT NULL);
CREATE TABLE reorder (prod_id int NOT NULL, date_low date NOT NULL, quan_low int NOT NULL, date_reordered date, quan_reordered int, date_expected date);
CREATE TABLE reviews (review_id int NOT NULL, prod_id int NOT NULL, review_date date NOT NULL, stars smallint NOT NULL, customerid int NOT NULL,
  review_summary text NOT NULL, review_text text);
CREATE TABLE reviews_helpfulness (review_helpfulness_id int NOT NULL, review_id int NOT NULL, customerid int NOT NULL, helpfulness smallint NOT NULL);
CREATE TABLE membership (customerid int NOT NULL, membershiptype int NOT NULL, expiredate date NOT NULL);
INSERT INTO categories VALUES (1, 'Action'), (2, 'Animation'), (3, 'Children'), (4, 'Classics'), (5, 'Comedy'), (6, 'Documentary'), (7, 'Drama'), (8, 'Family'),
  (9, 'Foreign'), (10, 'Games'), (11, 'Horror'), (12, 'Music'), (13, 'New'), (14, 'Sci-Fi'), (15, 'Sports'), (16, 'Travel');
CREATE TABLE plimsoll (setting text PRIMARY KEY, value text);
`

const categories = 16

// keys are made when the tables are filled, each table's in turn and several tables at
// once.
var keys = map[string][]string{
	"customers": {
		"ALTER TABLE customers ADD PRIMARY KEY (customerid)",
		"CREATE UNIQUE INDEX customers_username ON customers (username)",
		"CREATE UNIQUE INDEX customers_username_password ON customers (username, password)",
	},
	"cust_hist": {"CREATE INDEX cust_hist_customer ON cust_hist (customerid)"},
	"orders": {
		"ALTER TABLE orders ADD PRIMARY KEY (orderid)",
		"CREATE INDEX orders_customer ON orders (customerid)",
	},
	"orderlines": {"CREATE UNIQUE INDEX orderlines_order ON orderlines (orderid, orderlineid)"},
	"products": {
		"ALTER TABLE products ADD PRIMARY KEY (prod_id)",
		"CREATE INDEX products_actor ON products USING gin (to_tsvector('simple', actor))",
		"CREATE INDEX products_title ON products USING gin (to_tsvector('simple', title))",
		"CREATE INDEX products_category ON products (category)",
		"CREATE INDEX products_special ON products (special)",
		"CREATE INDEX products_category_special ON products (category, special)",
		"CREATE INDEX products_membership ON products (membership_item)",
	},
	"inventory": {
		"ALTER TABLE inventory ADD PRIMARY KEY (prod_id)",
		"CREATE INDEX inventory_product ON inventory (prod_id)",
	},
	"reorder": {"CREATE INDEX reorder_product ON reorder (prod_id)"},
	"reviews": {
		"ALTER TABLE reviews ADD PRIMARY KEY (review_id)",
		"CREATE INDEX reviews_product ON reviews (prod_id)",
		"CREATE INDEX reviews_stars ON reviews (stars)",
		"CREATE INDEX reviews_product_stars ON reviews (prod_id, stars)",
	},
	"reviews_helpfulness": {
		"ALTER TABLE reviews_helpfulness ADD PRIMARY KEY (review_helpfulness_id)",
		"CREATE INDEX helpfulness_review ON reviews_helpfulness (review_id)",
		"CREATE INDEX helpfulness_customer ON reviews_helpfulness (customerid)",
	},
	"membership": {"ALTER TABLE membership ADD PRIMARY KEY (customerid)"},
}

// references are made one after the other, since each locks two tables.
var references = []string{
	"ALTER TABLE cust_hist ADD FOREIGN KEY (customerid) REFERENCES customers ON DELETE CASCADE",
	"ALTER TABLE orders ADD FOREIGN KEY (customerid) REFERENCES customers ON DELETE SET NULL",
	"ALTER TABLE orderlines ADD FOREIGN KEY (orderid) REFERENCES orders ON DELETE CASCADE",
	"ALTER TABLE membership ADD FOREIGN KEY (customerid) REFERENCES customers ON DELETE CASCADE",
	"ALTER TABLE reviews ADD FOREIGN KEY (prod_id) REFERENCES products ON DELETE CASCADE",
	"ALTER TABLE reviews ADD FOREIGN KEY (customerid) REFERENCES customers ON DELETE CASCADE",
	"ALTER TABLE reviews_helpfulness ADD FOREIGN KEY (review_id) REFERENCES reviews ON DELETE CASCADE",
}

// counters number new rows where the first data ends.
var counters = map[string]string{
	"customers": "customerid", "orders": "orderid", "reviews": "review_id", "reviews_helpfulness": "review_helpfulness_id",
}
