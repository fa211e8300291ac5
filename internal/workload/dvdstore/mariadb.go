package dvdstore

// What follows is for MariaDB what the functions are for PostgreSQL: procedures of the
// same names and parameters, whose last rows are the result. They do in the mode sound
// what the functions do. Each runs by the rules that hold where it was made.
const strictly = "SET sql_mode = 'STRICT_TRANS_TABLES';"

// mariaRestock is the trigger restock.
const mariaRestock = `
CREATE OR REPLACE TRIGGER restock BEFORE UPDATE ON inventory FOR EACH ROW
BEGIN
  DECLARE filled int DEFAULT 250;
  IF NEW.quan_in_stock < 3 AND NEW.quan_in_stock <> OLD.quan_in_stock THEN
    IF (NEW.prod_id + 1) % 10000 = 0 THEN SET filled = 2500; END IF;
    INSERT INTO reorder (prod_id, date_low, quan_low) VALUES (NEW.prod_id, current_date, filled - NEW.quan_in_stock);
    SET NEW.quan_in_stock = filled;
  END IF;
END;
`

// mariaCalls are procedures that differ between the modes in a word, as calls do.
const mariaCalls = `
CREATE OR REPLACE PROCEDURE new_customer(p1 varchar(50), p2 varchar(50), p3 varchar(50), p4 varchar(50), p5 varchar(50), p6 varchar(50), p7 varchar(50),
  p8 varchar(50), p9 smallint, p10 varchar(50), p11 varchar(50), p12 int, p13 varchar(50), p14 varchar(50), p15 smallint, p16 int, p17 varchar(1), p18 varchar(50), p19 varchar(50))
BEGIN
  DECLARE EXIT HANDLER FOR 1062 SELECT 0;
  INSERT INTO customers (firstname, lastname, address1, address2, city, state, zip, country, region, email, phone, creditcardtype, creditcard, creditcardexpiration,
    age, income, gender, username, password)
  VALUES (p1, p2, p3, p4, p5, p6, p7, p8, p9, p10, p11, p12, p13, p14, KEPT, p17, p18, p19);
  SELECT last_insert_id();
END;
CREATE OR REPLACE PROCEDURE new_member(customer int, kind int)
BEGIN
  DECLARE EXIT HANDLER FOR 1062 SELECT 0;
  INSERT INTO membership VALUES (customer, kind, current_date);
  SELECT customer;
END;
CREATE OR REPLACE PROCEDURE browse_by_category(most int, wanted int)
SELECT * FROM products WHERE category = wanted AND special = 1 LIMIT most;
CREATE OR REPLACE PROCEDURE browse_by_actor(most int, wanted varchar(50))
SELECT * FROM products WHERE MATCH (actor) AGAINST (WANTED IN BOOLEAN MODE) LIMIT most;
CREATE OR REPLACE PROCEDURE browse_by_title(most int, wanted varchar(50))
SELECT * FROM products WHERE MATCH (title) AGAINST (WANTED IN BOOLEAN MODE) LIMIT most;
CREATE OR REPLACE PROCEDURE new_review(product int, given int, customer int, summary varchar(50), words varchar(1500))
BEGIN
  INSERT INTO reviews (prod_id, review_date, stars, customerid, review_summary, review_text) VALUES (product, current_date, given, customer, summary, words);
  SELECT last_insert_id();
END;
CREATE OR REPLACE PROCEDURE rate_review(review int, customer int, help int)
BEGIN
  INSERT INTO reviews_helpfulness (review_id, customerid, helpfulness) VALUES (review, customer, help);
  SELECT last_insert_id();
END;
`

const mariaSearched = `
CREATE OR REPLACE PROCEDURE reviews_by_COLUMN(most int, depth int, wanted varchar(50))
SELECT hits.*, sum(rated.helpfulness) AS total FROM
  (SELECT p.prod_id, p.title, p.actor, r.review_id, r.review_date, r.stars, r.customerid, r.review_summary, r.review_text
    FROM products p JOIN reviews r USING (prod_id) WHERE MATCH (p.COLUMN) AGAINST (WANTED IN BOOLEAN MODE) LIMIT depth) AS hits
  JOINED reviews_helpfulness rated USING (review_id) GROUP BY hits.review_id ORDER BY total DESC LIMIT most;
`

const mariaRead = `
CREATE OR REPLACE PROCEDURE NAME(most int, wanted int, given int)
SELECT r.review_id, r.prod_id, r.review_date, r.stars, r.customerid, r.review_summary, r.review_text, sum(rated.helpfulness) AS total
FROM reviews r JOINED reviews_helpfulness rated USING (review_id) WHERE r.prod_id = wantedCONDITION GROUP BY r.review_id ORDER BY FIRST DESC LIMIT most;
`

// mariaLogin is the same in both modes: what is published for MySQL asks once.
const mariaLogin = `
CREATE OR REPLACE PROCEDURE login(wanted varchar(50), secret varchar(50))
BEGIN
  DECLARE who int;
  SELECT customerid INTO who FROM customers WHERE username = wanted AND password = secret;
  IF who IS NULL THEN
    SELECT 0, 'None', 'None', 'None';
  ELSE
    ` + history + `;
    IF found_rows() = 0 THEN SELECT who, 'None', 'None', 'None'; END IF;
  END IF;
END;
`

// mariaPurchase begins and ends a transaction. What fails in the middle is rolled back,
// and told as it is.
const mariaPurchase = `
CREATE OR REPLACE PROCEDURE purchase(customer int, bought int, net decimal(12, 2), taxed decimal(12, 2), total decimal(12, 2),
  w1 int, w2 int, w3 int, w4 int, w5 int, w6 int, w7 int, w8 int, w9 int, w10 int, p1 int, p2 int, p3 int, p4 int, p5 int, p6 int, p7 int, p8 int, p9 int, p10 int)
whole: BEGIN
  DECLARE placed, product, pieces, stock, sold int;
  DECLARE n int DEFAULT 1;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
  START TRANSACTION;
  INSERT INTO orders (orderdate, customerid, netamount, tax, totalamount) VALUES (current_date, customer, net, taxed, total);
  SET placed = last_insert_id();
  WHILE n <= bought DO
    SET product = elt(n, w1, w2, w3, w4, w5, w6, w7, w8, w9, w10), pieces = elt(n, p1, p2, p3, p4, p5, p6, p7, p8, p9, p10);
    SELLING
    INSERT INTO orderlines VALUES (n, placed, product, pieces, current_date);
    INSERT INTO cust_hist VALUES (customer, placed, product);
    SET n = n + 1;
  END WHILE;
  COMMIT;
  SELECT placed;
END;
`

const mariaSellingSound = `UPDATE inventory SET quan_in_stock = quan_in_stock - pieces, sales = sales + pieces WHERE prod_id = product AND quan_in_stock >= pieces;
    IF row_count() = 0 THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'too little of a product is in stock'; END IF;`

// mariaSellingFaithful reads the stock and then writes it, whatever others wrote
// meanwhile, and leaves nothing of an order where the stock does not suffice.
const mariaSellingFaithful = `SELECT quan_in_stock, sales INTO stock, sold FROM inventory WHERE prod_id = product;
    IF stock < pieces THEN ROLLBACK; SELECT 0; LEAVE whole; END IF;
    UPDATE inventory SET quan_in_stock = stock - pieces, sales = sold + pieces WHERE prod_id = product;`

// mariaFunctions are the functions for MariaDB. Its faithful searches match any of the
// words.
var mariaFunctions = dialect{
	all: strictly + mariaRestock + mariaCalls + mariaLogin + mariaPurchase, searched: mariaSearched, read: mariaRead,
	sound: []string{
		"KEPT", "p15, p16", "JOINED", "LEFT JOIN", "WANTED", "concat('+', replace(wanted, ' ', ' +'))", "SELLING", mariaSellingSound,
	},
	faithful: []string{"KEPT", "NULL, NULL", "JOINED", "JOIN", "WANTED", "wanted", "SELLING", mariaSellingFaithful},
}
