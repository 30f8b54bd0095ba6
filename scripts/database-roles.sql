-- Makes the database and its two roles: the owner, who migrates, and the program's own, which owns nothing. The
-- PostgreSQL image of compose.yaml runs it once, on an empty volume; a superuser with psql can run it as well:
--
--   DATABASE_PASSWORD=… psql -v ON_ERROR_STOP=1 -f scripts/database-roles.sql postgres://…/postgres
\getenv password DATABASE_PASSWORD

CREATE ROLE plenary_owner LOGIN PASSWORD :'password';
CREATE ROLE plenary_app LOGIN PASSWORD :'password';
CREATE DATABASE plenary OWNER plenary_owner;
REVOKE ALL ON DATABASE plenary FROM PUBLIC;
GRANT CONNECT ON DATABASE plenary TO plenary_app;
