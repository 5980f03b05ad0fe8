// Before anything starts a thread: a look-up of a name that no server answers holds one, and by default four are all.
import { env } from 'node:process';

env['UV_THREADPOOL_SIZE'] ??= '64';
