// The agent's own screen, in a page: terminal.read and terminal.input over the WebSocket.
// The token comes in the fragment of the address, which no server sees.
'use strict';
(() => {
  const $ = (id) => document.getElementById(id);
  const session = decodeURIComponent(location.pathname.split('/')[2] || '');
  const fragment = new URLSearchParams(location.hash.slice(1));
  if (fragment.has('token')) {
    sessionStorage.setItem('agenthost.token', fragment.get('token'));
    history.replaceState(null, '', location.pathname);
  }
  const token = sessionStorage.getItem('agenthost.token') || '';
  const term = new Terminal({ scrollback: 5000 });
  term.open($('screen'));

  const say = (text, locked) => {
    $('status').textContent = text;
    document.querySelector('header').classList.toggle('locked', !!locked);
  };
  const name = () => Array.from(crypto.getRandomValues(new Uint8Array(12)), (b) => b.toString(16).padStart(2, '0')).join('');
  const decode = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const encode = (bytes) => btoa(Array.from(bytes, (b) => String.fromCharCode(b)).join(''));
  const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

  // A connection: call answers with the result, or throws what the other side says.
  const connect = () => new Promise((ready, failed) => {
    const address = new URL('/v1/ws', location.href);
    address.protocol = address.protocol === 'https:' ? 'wss:' : 'ws:';
    const ws = new WebSocket(address, token ? ['agenthost.v1', 'bearer.' + token] : ['agenthost.v1']);
    const waiting = new Map();
    let last = 0;
    const conn = {
      open: true,
      call: (method, params) => new Promise((resolve, reject) => {
        if (!conn.open) { reject({ lost: true }); return; }
        waiting.set(++last, { resolve, reject });
        ws.send(JSON.stringify({ jsonrpc: '2.0', id: last, method, params }));
      }),
    };
    ws.onmessage = (m) => {
      const answer = JSON.parse(m.data);
      const call = waiting.get(answer.id);
      if (!call) return;
      waiting.delete(answer.id);
      if (answer.error) call.reject({ code: answer.error.data && answer.error.data.code, message: answer.error.message });
      else call.resolve(answer.result);
    };
    ws.onopen = () => ready(conn);
    ws.onclose = (e) => {
      conn.open = false;
      for (const call of waiting.values()) call.reject({ lost: true });
      waiting.clear();
      failed({ lost: true, message: e.reason });
    };
  });

  let conn = null;
  let held = false;

  // What is typed goes out in order, one call after the other; sent again with the same
  // offset it is typed once.
  let attachment = name();
  let offset = 0;
  let typed = [];
  let typing = false;
  const type = async () => {
    if (typing) return;
    typing = true;
    while (typed.length > 0) {
      const data = typed.slice(0, 16384);
      let maybe = false;
      let late = Date.now() + 2000;
      for (;;) {
        if (Date.now() > late) {
          // Another dialog may be open when the connection comes back.
          typed = [];
          attachment = name();
          offset = 0;
          say('the connection was lost: what was typed meanwhile is dropped', true);
          break;
        }
        try {
          await conn.call('terminal.input', { session, attachment, offset, data: encode(data) });
          offset += data.length;
          typed = typed.slice(data.length);
          break;
        } catch (e) {
          if (e.code === 'gap') {
            // The host was started anew: what may have been typed is not typed again.
            attachment = name();
            offset = 0;
            if (maybe) { typed = typed.slice(data.length); break; }
          } else if (e.lost || e.code === 'unknown_outcome' || e.code === 'timeout') {
            maybe = true;
          } else if (e.code === 'busy') {
            late = Date.now() + 2000; // the host is there
          } else if (e.code !== 'rate_limited' && e.code !== 'host_offline') {
            typed = []; // another one holds control, or there is no agent
            break;
          }
          await sleep(200);
        }
      }
    }
    typing = false;
  };
  const press = (bytes) => {
    if (!held || typed.length > 1 << 20) return;
    for (const b of bytes) typed.push(b);
    type();
  };
  term.onData((text) => press(new TextEncoder().encode(text)));
  term.onBinary((text) => press(Uint8Array.from(text, (c) => c.charCodeAt(0) & 255)));

  $('take').onclick = () => conn.call('session.control', { session, clientType: 'browser' })
    .catch((e) => say(e.message || 'the connection is lost'));
  $('fit').onclick = () => {
    const screen = document.querySelector('.xterm-screen');
    const cols = Math.floor($('screen').clientWidth / (screen.clientWidth / term.cols)) - 1;
    const rows = Math.floor($('screen').clientHeight / (screen.clientHeight / term.rows)) - 1;
    if (cols > 0 && rows > 0) conn.call('terminal.resize', { session, cols, rows }).catch(() => {});
  };

  const show = (c) => {
    held = !!c.held;
    $('take').hidden = held;
    $('fit').hidden = !held;
    if (held) say(c.running ? 'you hold control' : 'no agent is before the screen');
    else say((c.holder ? c.holder.clientType + ' ' + c.holder.tokenId + ' holds' : 'nobody holds') + ' control', true);
  };

  // One screen after the other, until it is over.
  const watch = async () => {
    let after = -1;
    let state = '';
    for (;;) {
      const began = Date.now();
      const c = await conn.call('terminal.read', { session, attachment, after, state, max: 65536, waitMs: 10000, console: true });
      if (c.cols > 0 && (c.cols !== term.cols || c.rows !== term.rows)) term.resize(c.cols, c.rows);
      if (c.reset) term.reset();
      if (c.data) await new Promise((done) => term.write(decode(c.data), done));
      const news = c.data || c.reset || c.state !== state;
      after = c.at;
      state = c.state;
      show(c);
      if (!news && Date.now() - began < 250) await sleep(250);
    }
  };

  const run = async () => {
    for (let pause = 500; ; pause = Math.min(pause * 2, 15000)) {
      try {
        conn = await connect();
        await conn.call('viewer.hello', { protocols: ['agenthost.v1'], client: { name: 'agenthost page', version: '1' }, clientType: 'browser' });
        pause = 500;
        await watch();
      } catch (e) {
        held = false;
        $('take').hidden = $('fit').hidden = true;
        if (!e.lost && !['busy', 'rate_limited', 'host_offline', 'timeout', 'unknown_outcome', 'internal'].includes(e.code)) {
          say(e.message || String(e), true);
          return;
        }
        say((e.message || 'the connection is lost') + '; trying again' + (token ? '' : ' (the address needs #token=...)'), true);
      }
      await sleep(pause);
    }
  };
  run();
})();
